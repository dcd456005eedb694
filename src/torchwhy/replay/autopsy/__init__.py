"""Right after an exception, in the user's process: everything around it, collected into one `Crash` event."""
