"""Writes the forward graph of a watched step: what feeds the loss, where the graph is cut, what the units do."""
