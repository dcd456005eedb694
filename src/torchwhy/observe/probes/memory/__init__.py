"""Finds the variables that hold tensors, and the statements that make them grow."""
