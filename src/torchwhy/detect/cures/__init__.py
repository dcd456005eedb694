"""Edits that detectors propose, by what they change: operands, optimizers, loops, losses, loaders. Pure text, no torch."""
