import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
e = nn.Embedding(17, 32)
layer = nn.TransformerEncoderLayer(32, 2, 64, dropout=0.0, batch_first=True)
enc, o = nn.TransformerEncoder(layer, 1), nn.Linear(32, 17)
opt = torch.optim.Adam([*e.parameters(), *enc.parameters(), *o.parameters()], lr=1e-3)
for step in range(60):
    x = torch.randint(0, 16, (16, 12))
    x[:, 1::2] = x[:, ::2]
    hide = torch.rand(16, 12) < 0.2
    hide[:, 3] = True
    given, target = x.masked_fill(hide, 16), x.masked_fill(~hide, -100)
    loss = F.cross_entropy(o(enc(e(given))).flatten(0, 1), target.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
