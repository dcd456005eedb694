"""A cause for torchwhy, as a package of its own."""
