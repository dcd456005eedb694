"""Edits of what a model is made of and of the graph it builds."""
