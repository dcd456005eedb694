"""One file per cause of the family *numerics*."""
