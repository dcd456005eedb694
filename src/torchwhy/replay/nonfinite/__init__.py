"""Explains NaN and inf: the operation that made the first one, its origin, and what it spoiled."""
