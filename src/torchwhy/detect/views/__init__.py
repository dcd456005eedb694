"""Queries on a trace, grouped by subject. A view reads events and changes nothing."""
