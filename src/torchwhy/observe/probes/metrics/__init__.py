"""Follows the numbers that the program reads while it evaluates, and how it averages them."""
