"""A functional model: its weights live in a dict, its product does not meet."""

import torch
import torch.nn.functional as F

torch.manual_seed(0)
weights = {
    "first": torch.randn(20, 32, requires_grad=True),
    "second": torch.randn(64, 3, requires_grad=True),
}


def model(x, weights):
    hidden = torch.relu(x @ weights["first"])
    return hidden @ weights["second"]  # <- matmul-size-mismatch


optimizer = torch.optim.SGD(list(weights.values()), lr=0.1)
for _ in range(4):
    loss = F.cross_entropy(model(torch.randn(8, 20), weights), torch.randint(0, 3, (8,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
