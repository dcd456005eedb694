"""The course of training: losses, learning rates, updates, and what was learnt."""
