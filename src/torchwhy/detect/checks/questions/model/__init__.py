"""What the model computes: time, padding, spread, modes, results that nobody reads."""
