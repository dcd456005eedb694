"""Decoding with log probabilities: log(0) is -inf, an impossible transition."""

import torch

transition = torch.tensor([[0.7, 0.3, 0.0], [0.0, 0.6, 0.4], [0.5, 0.0, 0.5]]).log()
emission = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.0, 1.0]]).log()
scores = torch.full((3,), -torch.inf)
scores[0] = 0.0
for symbol in [0, 1, 1, 0]:
    candidates = scores[:, None] + transition
    scores, back = candidates.max(dim=0)
    scores = scores + emission[:, symbol]
    print(scores, back)
print("likelihood", torch.logsumexp(scores, dim=0).exp().item())
