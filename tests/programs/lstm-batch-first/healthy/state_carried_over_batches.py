import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
t = torch.arange(6000) * 0.05
s = torch.sin(t) + 0.5 * torch.sin(0.31 * t)
streams, bptt = 12, 25
data = s[: 6000 // streams * streams].view(streams, -1).t()
xs, ys = data[:-1], data[1:]
n = len(xs) // bptt * bptt
loader = DataLoader(TensorDataset(xs[:n], ys[:n]), batch_size=bptt, shuffle=False)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.out = nn.GRU(1, 24), nn.Linear(24, 1)

    def forward(self, x, h):
        o, h = self.rnn(x.unsqueeze(-1), h)
        return self.out(o).squeeze(-1), h


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(4):
    h, total = None, 0.0
    for x, y in loader:
        if h is not None:
            h = h.detach()
        out, h = net(x, h)
        loss = nn.functional.mse_loss(out, y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        total += loss.item()
    print(epoch, total / len(loader))
