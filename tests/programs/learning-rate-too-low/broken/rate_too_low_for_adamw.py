import torch
from torch import nn


def train(config):
    torch.manual_seed(config["seed"])
    model = nn.Sequential(nn.Linear(12, 48), nn.GELU(), nn.Linear(48, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"])  # <- learning-rate-too-low
    x = torch.randn(300, 12)
    y = x[:, :3].argmax(1)
    for _ in range(config["steps"]):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


train({"seed": 0, "lr": 1e-9, "steps": 120})
