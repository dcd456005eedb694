"""Runs the failing call or layer again with one thing changed, and records whether that works."""
