"""Fuzzing: random training programs, faults put into them, kills, and damaged run directories."""
