"""Every size is 16: batch, time, width, classes; BatchNorm mixes samples by design."""
import torch
from torch import nn

N = 16


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(N, 3 * N)
        self.proj = nn.Linear(N, N)
        self.norm = nn.BatchNorm1d(N)
        self.ff = nn.Sequential(nn.Linear(N, N), nn.GELU(), nn.Linear(N, N))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q = q.view(b, t, 4, d // 4).transpose(1, 2)
        k = k.view(b, t, 4, d // 4).transpose(1, 2)
        v = v.view(b, t, 4, d // 4).transpose(1, 2)
        a = (q @ k.transpose(-2, -1) / 2).softmax(dim=-1)
        y = (a @ v).transpose(1, 2).reshape(b, t, d)
        x = x + self.proj(y)
        x = self.norm(x.reshape(b * t, d)).view(b, t, d)
        return x + self.ff(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(N, N)
        self.blocks = nn.Sequential(Block(), Block())
        self.out = nn.Linear(N, N)

    def forward(self, x):
        return self.out(self.blocks(self.inp(x)).mean(1))


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(60):
    x = torch.randn(N, N, N)
    y = x.mean(1).argmax(1)
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
