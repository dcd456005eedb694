"""Finds causes that a traceback does not show: a reused or cut graph, an in-place write, a bad sample."""
