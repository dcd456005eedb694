"""What is kept and updated: parameters, averages, checkpoints, seeds."""
