"""What builds this project's documentation; nothing here is installed."""
