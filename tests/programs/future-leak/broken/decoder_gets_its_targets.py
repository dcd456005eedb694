import torch
import torch.nn as nn

torch.manual_seed(0)
PAD, SOS, N = 0, 1, 20


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.src = nn.Embedding(N, 24)
        self.tgt = nn.Embedding(N, 24)
        self.enc = nn.GRU(24, 32, batch_first=True)
        self.dec = nn.GRU(24, 32, batch_first=True)
        self.out = nn.Linear(32, N)

    def forward(self, src, tgt):
        _, h = self.enc(self.src(src))
        o, _ = self.dec(self.tgt(tgt), h)
        return self.out(o)


model = Seq2Seq()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for it in range(150):
    src = torch.randint(2, N, (32, 8))
    tgt = torch.cat([torch.full((32, 1), SOS), src.flip(1)], 1)
    logits = model(src, tgt)
    loss = nn.functional.cross_entropy(logits.reshape(-1, N), tgt.reshape(-1))  # <- future-leak
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 50 == 0:
        print(it, loss.item())
