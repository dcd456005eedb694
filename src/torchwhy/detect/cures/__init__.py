"""Edits that detectors propose, by what they change: operands, optimizers, loops, modules, data. Pure text."""
