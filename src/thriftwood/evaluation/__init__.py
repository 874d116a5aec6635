"""Measure prunings on samples, choose among them, prove them."""
