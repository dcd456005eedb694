"""Torchwhy from inside a program: a block to watch, cells of a notebook, tests, callbacks for frameworks."""
