"""Edits of statements that keep tensors alive."""
