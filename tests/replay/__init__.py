"""What happens in the user's process around a failure."""
