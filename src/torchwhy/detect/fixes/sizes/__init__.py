"""Edits of shapes, sizes and axes."""
