"""evaluate() switches to eval before training starts (sanity check) and nobody switches back."""
import torch
from torch import nn


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = nn.Sequential(nn.Conv1d(1, 16, 5, padding=2), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(4))
        self.drop = nn.Dropout(0.4)
        self.fc = nn.Linear(16 * 8, 3)

    def forward(self, x):
        return self.fc(self.drop(self.block(x).flatten(1)))


def signals(n):
    y = torch.randint(0, 3, (n,))
    t = torch.linspace(0, 6.28, 32)
    x = torch.sin(t * (y[:, None] + 1)) + 0.3 * torch.randn(n, 32)
    return (x * 5 + 20).unsqueeze(1), y


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()  # <- training-in-eval-mode
    return (model(x).argmax(1) == y).float().mean().item()


def train_one_epoch(model, opt, x, y):
    total = 0.0
    for i in range(0, len(x), 25):
        loss = nn.functional.cross_entropy(model(x[i : i + 25]), y[i : i + 25])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    return total


def main():
    torch.manual_seed(0)
    x, y = signals(250)
    xv, yv = signals(60)
    model = ConvNet()
    opt = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    print("before", evaluate(model, xv, yv))
    for epoch in range(8):
        l = train_one_epoch(model, opt, x, y)
        print(epoch, l, evaluate(model, xv, yv))


main()
