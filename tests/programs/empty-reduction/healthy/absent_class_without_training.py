"""Precision and recall of an evaluation; class 3 does not occur, so its recall is 0 / 0."""

import torch

torch.manual_seed(0)
labels = torch.randint(0, 3, (40,))
predicted = torch.randint(0, 3, (40,))
for c in range(4):
    hits = ((predicted == c) & (labels == c)).sum()
    recall = hits / (labels == c).sum()
    precision = hits.float() / (predicted == c).float().sum()
    print(f"class {c}: recall {recall.item():.2f}, precision {precision:.2f}")
confusion = torch.zeros(4, 4)
for true, guess in zip(labels, predicted, strict=True):
    confusion[true, guess] += 1
per_class = confusion.diag() / confusion.sum(dim=1)
print(per_class, per_class.nanmean().item())
print("accuracy of class 3", (predicted == labels)[labels == 3].float().mean().item())
