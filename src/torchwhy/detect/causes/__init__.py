"""One file per cause, in one folder per family; files are found, there is no list to keep."""
