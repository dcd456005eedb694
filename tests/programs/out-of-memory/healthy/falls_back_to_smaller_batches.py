"""A program that halves its batch when memory runs out, as large-scale recipes do; nothing of it is lost."""

import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def gradients_of(rows):
    try:
        if len(rows) > 16:
            torch.empty(10**15)
        loss = model(rows).pow(2).mean()
    except RuntimeError:
        half = len(rows) // 2
        return gradients_of(rows[:half]) + gradients_of(rows[half:])
    loss.backward()
    return loss.item()


for step in range(5):
    optimizer.zero_grad()
    gradients_of(torch.randn(32, 4))
    optimizer.step()
