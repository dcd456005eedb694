"""The failing step again, operation by operation: who made the first bad value, out of what, and what it spoiled."""
