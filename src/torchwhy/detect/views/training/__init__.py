"""How training went: losses, learning rates, updates, and whether the model learnt."""
