"""Model built under torch.device('meta') for speed; one part is never materialised."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.a = nn.Linear(dim, 2 * dim)
        self.b = nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.b(torch.relu(self.a(x)))  # <- device-mismatch


class Model(nn.Module):
    def __init__(self, dim=16, depth=2):
        super().__init__()
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.head = nn.Linear(dim, 4)

    def forward(self, x):
        for b in self.blocks:
            x = b(x)
        return self.head(x)


def materialise(model):
    model.head.to_empty(device="cpu")
    model.head.reset_parameters()
    model.blocks[0].to_empty(device="cpu")
    for layer in (model.blocks[0].a, model.blocks[0].b):
        layer.reset_parameters()
    return model


def main():
    torch.manual_seed(0)
    with torch.device("meta"):
        model = Model()
    model = materialise(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(5):
        x = torch.randn(8, 16)
        loss = nn.functional.cross_entropy(model(x), x[:, :4].argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(step, loss.item())


main()
