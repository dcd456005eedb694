import torch

def cosine(a, b):
    return (a @ b) / (a.norm() * b.norm())  # <- division-by-zero

ref = torch.tensor([1.0, 0.0])
best, best_score = None, -1.0
for i, v in enumerate([torch.zeros(2), torch.tensor([1.0, 1.0])]):
    score = cosine(ref, v)
    if score > best_score:
        best, best_score = i, score
print(best)
