import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(6, 16)
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        h = torch.relu(self.enc(x))
        scale = h.sum(dim=1, keepdim=True)
        return self.head(h / scale)  # <- division-by-zero


torch.manual_seed(0)
net = Net()
model = torch.compile(net, backend="aot_eager", fullgraph=True)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(60):
    x = torch.randn(32, 6)
    if step == 40:
        x[3] = 0
        with torch.no_grad():
            net.enc.bias.fill_(-1.0)
    loss = model(x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, float(loss))
