"""Generation with filtered logits: everything but the best k becomes -inf."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(30, 16), nn.Linear(16, 30)).eval()
token = torch.tensor([3])
with torch.no_grad():
    for _ in range(10):
        logits = model(token)
        smallest = torch.topk(logits, 5).values[:, -1:]
        logits[logits < smallest] = -float("inf")
        print(logits.max().item(), logits.min().item())
        token = torch.multinomial(torch.softmax(logits, dim=-1), 1).view(1)
print(token.item())
