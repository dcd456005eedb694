"""What goes in: samplers, loaders, evaluation data, values."""
