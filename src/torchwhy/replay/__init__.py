"""Observes single steps operation by operation, and repeats a failing one to find what made its first bad value."""
