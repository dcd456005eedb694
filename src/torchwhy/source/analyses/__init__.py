"""What the text tells without running it: where layers are made, variables grow, numbers are written."""
