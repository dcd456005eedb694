"""The forward graph of an observed step, from the inputs to the loss."""
