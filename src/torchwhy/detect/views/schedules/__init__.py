"""Queries about learning-rate schedules: how they went, and what they were given."""
