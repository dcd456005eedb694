"""The faults that the mutator puts into healthy programs, by family."""
