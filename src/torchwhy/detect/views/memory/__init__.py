"""The variables that hold tensors from step to step."""
