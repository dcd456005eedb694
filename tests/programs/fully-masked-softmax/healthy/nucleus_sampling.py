import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(16, 12), nn.Linear(12, 16))


def filtered(logits, k=5, p=0.9):
    threshold = logits.topk(k).values[..., -1:]
    logits = torch.where(logits < threshold, -torch.inf, logits)
    ordered, order = logits.sort(descending=True)
    outside = ordered.softmax(-1).cumsum(-1) > p
    outside[..., 0] = False
    return logits.masked_fill(outside.scatter(-1, order, outside), float("-inf"))


token = torch.tensor([3, 7])
with torch.inference_mode():
    for _ in range(6):
        scores = filtered(model(token))
        token = torch.multinomial(scores.softmax(-1), 1).squeeze(-1)
        print(token.tolist(), scores.log_softmax(-1).max().item())
