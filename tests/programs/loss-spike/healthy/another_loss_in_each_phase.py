# first reconstruct, then classify with the same optimizer; then a heavy regulariser is switched on
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
enc, dec, cls = nn.Sequential(nn.Linear(10, 32), nn.ReLU()), nn.Linear(32, 10), nn.Linear(32, 4)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters(), *cls.parameters()], 3e-3)
X = torch.randn(400, 10) * .3; y = torch.randint(0, 4, (400,)); y[:300] = X[:300, :4].argmax(1)
for it in range(300):
    k = torch.randint(0, 400, (40,)); h = enc(X[k])
    if it < 100: loss = F.mse_loss(dec(h), X[k])
    elif it < 200: loss = F.cross_entropy(cls(h), y[k])
    else: loss = F.cross_entropy(cls(h), y[k]) + .5 * h.abs().sum(1).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    if it % 50 == 49: print(it, round(loss.item(), 4))
