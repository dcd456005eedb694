"""Parts of `torchwhy run` for the time while the program runs."""
