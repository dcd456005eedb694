"""What is found around an exception, right after it came."""
