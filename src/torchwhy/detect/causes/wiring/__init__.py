"""One file per cause of the family *wiring*: the program does not do what its author thinks."""
