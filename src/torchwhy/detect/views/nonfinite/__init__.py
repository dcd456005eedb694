"""Queries on a NaN or Inf: its birth, its operands, where it came from."""
