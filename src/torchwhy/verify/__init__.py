"""A fix counts only after an experiment: the same program, the same seeds, broken without it and healthy with it."""
