"""Reacts to the events of training: one handler for watching, one for a step being repeated, one for a rerun."""
