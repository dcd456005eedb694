"""After an exception: what was on the line, what shapes led there, what change would have gone through."""
