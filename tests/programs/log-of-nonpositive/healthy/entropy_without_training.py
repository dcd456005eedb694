"""Entropy by hand: 0 · log 0 is NaN and counts as 0."""

import torch

probabilities = torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.2, 0.3, 0.5]])
logs = probabilities.log()
terms = probabilities * logs
print("log", logs)
entropy = -torch.nan_to_num(terms).sum(dim=1)
again = -torch.nansum(terms, dim=1)
print(entropy.tolist(), again.tolist(), torch.special.entr(probabilities).sum(dim=1))
