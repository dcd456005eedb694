import io

import torch
from torch import nn


def build():
    model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=4, gamma=0.5)
    return model, optimizer, scheduler


def epoch(model, optimizer):
    model.train()
    for _ in range(6):
        x = torch.randn(32, 4)
        loss = nn.functional.mse_loss(model(x), x.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(0)
file = io.BytesIO()
model, optimizer, scheduler = build()
for _ in range(4):
    epoch(model, optimizer)
    scheduler.step()
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}, file)

model, optimizer, scheduler = build()
file.seek(0)
state = torch.load(file)
model.load_state_dict(state["model"])
optimizer.load_state_dict(state["optimizer"])
scheduler.load_state_dict(state["scheduler"])
for _ in range(4):
    epoch(model, optimizer)
    scheduler.step()
model.eval()
with torch.no_grad():
    print(model(torch.ones(1, 4)).item())
