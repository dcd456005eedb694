"""What helps with the command line itself: suggestions, versions, completion."""
