"""What the program keeps from step to step."""
