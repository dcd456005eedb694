"""The waist: everything that thinking knows about a run comes through these files. Needs no torch."""
