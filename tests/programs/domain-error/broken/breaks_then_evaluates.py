"""The loop breaks on a bad loss; afterwards an evaluation prints something finite."""
import torch
from torch import nn


def gamma(x, exponent):
    return x**exponent  # <- domain-error


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 2)
        self.exponent = nn.Parameter(torch.tensor(0.45))

    def forward(self, pixels):
        return self.fc(gamma(pixels, self.exponent))


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
loss_fn = nn.CrossEntropyLoss()
for i in range(40):
    pixels = torch.rand(8, 6)
    if i > 28:
        pixels = pixels + 0.05 * torch.randn(8, 6) - 0.2  # augmentation goes below black
    label = torch.randint(0, 2, (8,))
    loss = loss_fn(net(pixels), label)
    if torch.isnan(loss).any():
        print(f"nan at {i}, stopping early")
        break
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    accuracy = (net(torch.rand(32, 6)).argmax(1) == torch.randint(0, 2, (32,))).float().mean()
    print("accuracy", accuracy.item())
