"""The report as text for a terminal."""
