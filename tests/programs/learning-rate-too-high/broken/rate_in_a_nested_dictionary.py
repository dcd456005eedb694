import torch
from torch import nn

CONFIG = {"model": {"width": 32}, "optimizer": {"lr": 20.0, "momentum": 0.9}, "steps": 60}


def make_optimizer(model, config):
    return torch.optim.SGD(model.parameters(), **config["optimizer"])  # <- learning-rate-too-high


def run(config):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(6, config["model"]["width"]), nn.ReLU(), nn.Linear(config["model"]["width"], 2))
    opt = make_optimizer(model, config)
    for step in range(config["steps"]):
        x = torch.randn(32, 6)
        y = (x[:, 0] > 0).long()
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


run(CONFIG)
