"""Runs in the user's process: light, removable, never raises into it. Writes events without judging them."""
