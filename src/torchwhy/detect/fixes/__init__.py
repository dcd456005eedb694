"""Builders of edits. Each takes a diagnosis and the source and yields changes; it never reads a sentence."""
