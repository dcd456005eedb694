"""No module anywhere, and the sizes part only in the fourth step."""

import torch

weight = torch.randn(4, 8, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)


def attend(query, key):
    return torch.einsum("bqd,bkd->bqk", query, key)  # <- matmul-size-mismatch


for step in range(5):
    x = torch.randn(2, 3, 4)
    key = torch.randn(2, 5, 8 if step < 3 else 6)
    loss = attend(x @ weight, key).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
