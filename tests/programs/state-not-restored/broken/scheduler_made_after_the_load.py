import io

import torch
from torch import nn

torch.manual_seed(0)
file = io.BytesIO()


def train(first, last, state=None):
    net = nn.Linear(8, 1)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    if state is not None:
        net.load_state_dict(state["net"])
        optimizer.load_state_dict(state["optimizer"])
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: 1 / (1 + n))  # <- state-not-restored
    if state is not None:
        scheduler.load_state_dict(state["scheduler"])
    for epoch in range(first, last):
        for _ in range(8):
            x = torch.randn(64, 8)
            loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
    parts = {"net": net, "optimizer": optimizer, "scheduler": scheduler}
    return {"epoch": last, **{name: part.state_dict() for name, part in parts.items()}}


torch.save(train(0, 6), file)
file.seek(0)
state = torch.load(file)
train(state["epoch"], 12, state)
