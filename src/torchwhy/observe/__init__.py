"""In the user's process: light, removable, never raises into it. Writes events, knows nothing of their meaning."""
