"""Explains an exception while its frames are alive, and writes it as one `Crash` event."""
