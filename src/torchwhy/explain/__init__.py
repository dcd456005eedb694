"""Findings → one story: cause before consequence, echoes dropped, root first."""
