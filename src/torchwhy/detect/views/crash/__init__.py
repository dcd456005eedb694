"""An exception: the tensors, the layer, the batch it came with."""
