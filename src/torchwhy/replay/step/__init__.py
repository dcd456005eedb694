"""Repeats a failing step: in place, inside the user's own loop, or in a second run of the same command."""
