"""Decides which later steps deserve another observation: loss statistics and optimizers that start late."""
