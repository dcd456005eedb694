# The output is a count, which is rounded; logits of an auxiliary task are kept beside it.
import torch, torch.nn as nn, torch.nn.functional as F

torch.manual_seed(0)


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.aux = nn.Linear(32, 8)
        self.head = nn.Linear(32, 1)

    def forward(self, x):
        h = self.body(x)
        self.present = self.aux(h)
        return self.head(h).squeeze(1)


x = (torch.rand(500, 8) < 0.4).float()
n = x.sum(1)
model = Counter()
opt = torch.optim.Adam(model.parameters(), 1e-2)
for e in range(80):
    model.train()
    out = model(x[:400])
    loss = F.mse_loss(out, n[:400]) + F.binary_cross_entropy_with_logits(model.present, x[:400])
    opt.zero_grad()
    loss.backward()
    opt.step()
model.eval()
with torch.no_grad():
    pred = model(x[400:]).round()
    print((pred == n[400:]).float().mean().item())
