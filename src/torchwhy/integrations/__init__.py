"""Ways to use torchwhy from inside a program: a block to watch, cells of a notebook, tests."""
