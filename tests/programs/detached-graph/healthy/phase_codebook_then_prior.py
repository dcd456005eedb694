import torch
from torch import nn

torch.manual_seed(0)


class VQ(nn.Module):
    def __init__(self, k=16, d=4):
        super().__init__()
        self.enc, self.dec = nn.Linear(10, 3 * d), nn.Linear(3 * d, 10)
        self.book = nn.Parameter(torch.randn(k, d) * 0.5)
        self.d = d

    def codes(self, x):
        z = self.enc(x).view(len(x), 3, self.d)
        return z, torch.cdist(z, self.book.expand(len(x), -1, -1)).argmin(-1)

    def forward(self, x):
        z, idx = self.codes(x)
        q = self.book[idx]
        straight = z + (q - z).detach()
        out = self.dec(straight.flatten(1))
        return out, ((q - z.detach()) ** 2).mean() + 0.25 * ((q.detach() - z) ** 2).mean()


x = torch.randn(256, 3) @ torch.randn(3, 10)
vq = VQ()
opt = torch.optim.Adam(vq.parameters(), lr=1e-2)
for i in range(100):
    out, commit = vq(x)
    loss = ((out - x) ** 2).mean() + commit
    opt.zero_grad()
    loss.backward()
    opt.step()
print("vq", loss.item())
vq.eval().requires_grad_(False)
with torch.no_grad():
    _, tokens = vq.codes(x)


class Prior(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(17, 16)
        self.rnn = nn.LSTM(16, 32, batch_first=True)
        self.head = nn.Linear(32, 16)

    def forward(self, t):
        start = torch.full((len(t), 1), 16)
        h, _ = self.rnn(self.tok(torch.cat([start, t[:, :-1]], 1)))
        return self.head(h)


prior = Prior()
opt = torch.optim.Adam(prior.parameters(), lr=1e-2)
for i in range(60):
    logits = prior(tokens)
    loss = nn.functional.cross_entropy(logits.reshape(-1, 16), tokens.reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print("prior", loss.item())
