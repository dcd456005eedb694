"""Questions of a rehearsal about the data: they read rows of the program's datasets once more."""
