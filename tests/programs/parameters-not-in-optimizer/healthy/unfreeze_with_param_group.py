"""Gradual unfreezing done right: add_param_group; and a second model unfrozen only to be saved."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 16))
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        return self.head(torch.relu(self.backbone(x)))


def main():
    torch.manual_seed(0)
    model = Model()
    model.backbone.requires_grad_(False)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    for epoch in range(6):
        if epoch == 2:
            model.backbone.requires_grad_(True)
            optimizer.add_param_group({"params": model.backbone.parameters(), "lr": 1e-3})
        for _ in range(15):
            x = torch.randn(32, 10)
            loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


def frozen_then_saved():
    model = Model()
    model.backbone.requires_grad_(False)
    optimizer = torch.optim.Adam(model.head.parameters(), lr=1e-2)
    for _ in range(40):
        x = torch.randn(32, 10)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.backbone.requires_grad_(True)
    return model.state_dict()


main()
frozen_then_saved()
