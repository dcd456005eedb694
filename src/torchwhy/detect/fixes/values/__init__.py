"""Edits that keep a value in the domain of its operation, or out of training."""
