"""A failing step as a program of its own: cut out of the user's files, checked by running it, and made smaller."""
