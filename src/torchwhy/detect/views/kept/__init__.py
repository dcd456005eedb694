"""Views of what a program keeps: names in loaded states, entries of checkpoints, normalisation layers."""
