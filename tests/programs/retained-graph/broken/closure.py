import torch
from torch import nn


def main():
    net = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    losses = []

    def step():
        x = torch.randn(16, 8)
        loss = (net(x) - x.mean(dim=1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)  # <- retained-graph

    for _ in range(40):
        step()
    print(losses[-1])


torch.manual_seed(0)
main()
