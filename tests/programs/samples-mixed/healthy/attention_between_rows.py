"""attention between the rows of a batch, on purpose (SAINT / non-parametric transformer)"""
import torch, torch.nn as nn
torch.manual_seed(0)
class Row(nn.Module):
    def __init__(s, f, d): super().__init__(); s.col = nn.TransformerEncoderLayer(d, 2, 32, 0., batch_first=True); s.row = nn.TransformerEncoderLayer(d * f, 2, 64, 0., batch_first=True)
    def forward(s, x): b, f, d = x.shape; x = s.col(x); return s.row(x.reshape(1, b, f * d)).reshape(b, f, d)
class Net(nn.Module):
    def __init__(s, f=6, d=8): super().__init__(); s.emb = nn.Parameter(torch.randn(f, d)); s.bias = nn.Parameter(torch.zeros(f, d)); s.blocks = nn.Sequential(Row(f, d)); s.head = nn.Linear(f * d, 2)
    def forward(s, x): return s.head(s.blocks(x[..., None] * s.emb + s.bias).flatten(1))
X = torch.randn(512, 6); Y = (X[:, 0] * X[:, 1] > 0).long(); net = Net(); opt = torch.optim.Adam(net.parameters(), 2e-3)
for ep in range(12):
    t = 0
    for b in torch.randperm(512).split(64): l = nn.functional.cross_entropy(net(X[b]), Y[b]); opt.zero_grad(); l.backward(); opt.step(); t += l.item() / 8
    print(ep, t)
