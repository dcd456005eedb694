"""A process that swells: graphs and tensors that are kept."""
