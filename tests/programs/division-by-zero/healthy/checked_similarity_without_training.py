"""Cosine similarities with a zero vector: the program looks for NaN and skips it."""

import torch

torch.manual_seed(0)
vectors = torch.randn(6, 4)
vectors[2] = 0.0
query = torch.randn(4)
best, best_score = -1, float("-inf")
for i, vector in enumerate(vectors):
    score = query @ vector / (query.norm() * vector.norm())
    if torch.isnan(score):
        continue
    if score > best_score:
        best, best_score = i, score.item()
scores = vectors @ query / (vectors.norm(dim=1) * query.norm())
print(best, best_score, scores[scores == scores].max())
