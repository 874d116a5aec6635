"""The pruning problem: input read and checked once, losses, the closure built and kept."""
