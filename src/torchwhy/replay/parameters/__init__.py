"""Follows the life of a parameter: who owns it, what trains it, what freezes it, when it joined."""
