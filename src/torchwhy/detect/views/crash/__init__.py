"""What a crash recorded: the tensors, the layer and the batch at the exception."""
