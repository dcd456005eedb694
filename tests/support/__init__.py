"""Runs whole programs under torchwhy, quickly: each in a forked child of a process that has imported torch."""
