"""attention model for picking items: logits = 10 * tanh(compat), pointer network, log of attention"""
import torch, torch.nn as nn, math
torch.manual_seed(0)
class Pointer(nn.Module):
    def __init__(s, d=32): super().__init__(); s.emb = nn.Linear(2, d); s.enc = nn.TransformerEncoderLayer(d, 4, 64, dropout=0., batch_first=True); s.q, s.k = nn.Linear(d, d, False), nn.Linear(d, d, False)
    def forward(s, x): h = s.enc(s.emb(x)); q = s.q(h.mean(1, keepdim=True)); return 10 * torch.tanh((q @ s.k(h).transpose(1, 2)).squeeze(1) / math.sqrt(32))
net = Pointer(); opt = torch.optim.Adam(net.parameters(), 1e-3)
for it in range(250):
    x = torch.rand(64, 7, 2); y = x.sum(-1).argmax(1)        # point at the largest
    logp = torch.log_softmax(net(x), -1); loss = -logp.gather(1, y[:, None]).mean(); opt.zero_grad(); loss.backward(); opt.step()
    if it % 50 == 0: print(it, loss.item())
print(loss.item())
