import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(12, 16)
        self.enc = nn.GRU(16, 24, batch_first=True)
        self.dec = nn.GRU(24, 24, batch_first=True)
        self.o = nn.Linear(24, 12)

    def forward(self, x):
        _, h = self.enc(self.e(x))
        return self.o(self.dec(h.transpose(0, 1).repeat(1, x.size(1), 1))[0])


m = Autoencoder()
opt = torch.optim.Adam(m.parameters(), lr=5e-3)
for step in range(60):
    x = torch.randint(0, 12, (32, 6))
    loss = F.cross_entropy(m(x).flatten(0, 1), x.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
