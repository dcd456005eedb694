"""Reads the user's program from inside its process: places in the source, names, modules, seeds, exceptions."""
