import torch
from torch import nn


class Ratio(nn.Module):
    def __init__(self):
        super().__init__()
        self.top, self.bottom = nn.Linear(3, 1), nn.Linear(3, 1)

    def forward(self, x):
        below = torch.relu(self.bottom(x))
        return self.top(x) / below  # <- division-by-zero


torch.manual_seed(0)
net = Ratio()
with torch.no_grad():
    net.bottom.bias.fill_(8.0)
model = torch.compile(net, backend="eager")
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(12):
    x = torch.randn(16, 3)
    if step == 9:
        x[2] = -60 * net.bottom.weight.detach()[0].sign()
    loss = model(x).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
