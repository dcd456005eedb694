"""Trials of fixes: the same program with the same seeds, which fails without the fix and must not fail with it."""
