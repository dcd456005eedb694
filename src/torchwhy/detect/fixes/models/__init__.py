"""Edits of a model's layers and of the graph that it builds."""
