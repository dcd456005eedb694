"""Forward hook collects activations for a histogram and nobody empties the dict of lists."""
from collections import defaultdict

import torch
from torch import nn


class ActivationRecorder:
    def __init__(self, model):
        self.store = defaultdict(list)
        for name, m in model.named_modules():
            if isinstance(m, nn.ReLU):
                m.register_forward_hook(self.make(name))

    def make(self, name):
        def hook(module, inputs, output):
            self.store[name].append(output)  # <- retained-graph

        return hook

    def mean(self, name):
        return self.store[name][-1].mean().item()


def build():
    return nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 4))


def main():
    torch.manual_seed(0)
    net = build()
    rec = ActivationRecorder(net)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for step in range(150):
        x = torch.randn(64, 32)
        loss = nn.functional.cross_entropy(net(x), x[:, :4].argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 30 == 0:
            print(step, loss.item(), rec.mean("1"))


main()
