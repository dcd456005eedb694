import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(5, 32); self.bn = nn.BatchNorm1d(32); self.b = nn.Linear(32, 2)
    def forward(self, x):
        return self.b(torch.relu(self.bn(self.a(x))))

def train(model, loader, epochs):
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(epochs):
        for x, y in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            opt.step()

def test(model, loader):
    right = 0
    for x, y in loader:
        out = model(x)  # <- evaluation-in-train-mode
        right += (out.argmax(1) == y).sum().item()
    return right

def main():
    torch.manual_seed(0)
    x = torch.randn(300, 5); y = (x[:, 0] > 0).long()
    model = Net()
    train(model, DataLoader(TensorDataset(x[:200], y[:200]), 20, shuffle=True), 3)
    print(test(model, DataLoader(TensorDataset(x[200:], y[200:]), 20)))

main()
