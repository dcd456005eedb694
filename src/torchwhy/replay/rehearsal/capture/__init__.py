"""Captures one training step as a program over parameters and data slots, which can be run again."""
