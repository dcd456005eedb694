import torch

torch.manual_seed(0)
# beam search style with -inf, forward only
lp = torch.log_softmax(torch.randn(3, 7), -1)
scores = torch.full((3, 7), float("-inf"))
scores[:, 0] = 0
best = (scores + lp).view(-1).topk(3)
print(best.values, torch.where(best.values.isinf(), 0, best.values).sum())
