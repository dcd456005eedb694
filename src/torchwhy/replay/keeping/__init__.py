"""Keeps what is worth keeping of a failing step: the state before it, its batch, and the variables around it."""
