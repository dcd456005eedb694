"""What observe reads in the user's process."""
