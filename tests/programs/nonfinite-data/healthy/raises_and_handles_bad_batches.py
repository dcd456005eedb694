import torch
from torch import nn


class BadBatch(Exception):
    pass


def compute_loss(model, x):
    out = model(x)
    loss = (out - 1).abs().mean()
    if torch.isnan(loss):
        raise BadBatch("corrupt record")
    return loss


def records():
    for i in range(30):
        x = torch.randn(4, 6)
        if i % 11 == 7:
            x[0, 0] = torch.nan
        yield x


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
bad = 0
for x in records():
    try:
        loss = compute_loss(model, x)
    except BadBatch:
        bad += 1
        continue
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("bad records:", bad)
