"""Edits of what keeps tensors alive."""
