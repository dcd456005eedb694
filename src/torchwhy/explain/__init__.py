"""Findings → one story: causes before consequences, the root cause first, duplicates dropped."""
