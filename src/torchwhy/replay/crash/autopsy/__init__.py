"""Collects everything around the failing call into the `Crash` event: operands, layers, shapes, trials."""
