"""Follows the life of a parameter: what owns it, what trains or freezes it, and when it joined its model."""
