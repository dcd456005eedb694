"""One file per cause of the family *memory*: the process grows, because graphs and tensors are kept."""
