"""Edits of the training loop, its optimizers and schedules, initial weights and data scales."""
