"""Queries on the forward graph of an observed step, from the inputs to the loss."""
