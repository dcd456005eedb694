import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(6, 16)
        self.head = nn.Linear(12, 1)  # <- linear-size-mismatch

    def forward(self, x):
        h = torch.relu(self.enc(x))
        return self.head(h)


net = Net()
model = torch.compile(net, backend="aot_eager", fullgraph=True)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(60):
    x = torch.randn(32, 6)
    loss = model(x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
