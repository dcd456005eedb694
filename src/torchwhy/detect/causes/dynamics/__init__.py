"""One file per cause of the family *dynamics*."""
