"""What goes into training."""
