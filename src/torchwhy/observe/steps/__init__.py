"""Checks every training step: loss and gradients, optimizers, and how much time the checks may take."""
