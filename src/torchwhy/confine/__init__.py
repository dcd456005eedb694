"""Runs a program again without changing the user's files: in layers over them, or in a guarded copy."""
