import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(6, 16)
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        h = torch.tanh(self.enc(x))
        if not self.training:
            h = h / h.sum(1, keepdim=True).relu()  # <- division-by-zero
        return self.head(h)


train = TensorDataset(torch.randn(64, 6), torch.randn(64, 1))
val = TensorDataset(torch.randn(32, 6), torch.randn(32, 1))
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
crit = nn.MSELoss()
for epoch in range(4):
    net.train()
    for x, y in DataLoader(train, batch_size=16, shuffle=True):
        opt.zero_grad()
        loss = crit(net(x), y)
        loss.backward()
        opt.step()
    net.eval()
    total = 0.0
    with torch.no_grad():
        for x, y in DataLoader(val, batch_size=16):
            total += crit(net(x), y).item()
    print(f"epoch {epoch} train {loss.item():.3f} val {total / 2:.3f}")
