"""One file per cause of the family *errors*: the program stops with an exception, or catches one and continues."""
