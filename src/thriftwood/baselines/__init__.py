"""What to compare with: each tree alone, cost-complexity, dynamic programming."""
