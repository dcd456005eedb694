"""Edits that keep a value inside the domain of its operation, or out of training."""
