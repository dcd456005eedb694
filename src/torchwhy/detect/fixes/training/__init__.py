"""Edits of the training loop, its optimizers and schedules, and of what training starts from."""
