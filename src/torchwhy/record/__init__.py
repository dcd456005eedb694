"""The record of a run: all that the stages after it know comes from these files. Needs no torch."""
