"""Trace → findings. Detectors read a `Trace`, return `Finding`s and change nothing."""
