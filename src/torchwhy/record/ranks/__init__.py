"""The ranks of large runs, and of runs on several machines."""
