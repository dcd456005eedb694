import torch
from torch import nn


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x):
        return self.layers(x)


def main():
    torch.manual_seed(0)
    model = Regressor()
    torch.save(model, "model.pth")
    model = torch.load("model.pth")  # <- unsafe-checkpoint-load
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(32, 3)
    for _ in range(10):
        loss = (model(x) - x[:, :1]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
