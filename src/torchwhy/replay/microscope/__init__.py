"""Watches one step operation by operation: what ran, from which line, in which module, on which memory."""
