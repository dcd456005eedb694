import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
X = torch.randn(500, 16)
Y = (X[:, :4] ** 2).argmax(1)


class SimCLR(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32))
        self.projector = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 16))

    def forward(self, x):
        return F.normalize(self.projector(self.encoder(x)), dim=1)


def nt_xent(a, b, tau=0.5):
    z = torch.cat([a, b])
    sim = z @ z.t() / tau
    sim = sim.masked_fill(torch.eye(len(z), dtype=torch.bool), -1e9)
    n = len(a)
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, target)


model = SimCLR()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(80):
    x = X[torch.randint(0, 500, (64,))]
    loss = nt_xent(model(x + 0.1 * torch.randn_like(x)), model(x + 0.1 * torch.randn_like(x)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print("ssl", step, loss.item())

# linear probe
for p in model.encoder.parameters():
    p.requires_grad = False
model.encoder.eval()
probe = nn.Linear(32, 4)
opt = torch.optim.Adam(probe.parameters(), lr=1e-2)
for epoch in range(60):
    logits = probe(model.encoder(X))
    loss = F.cross_entropy(logits, Y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 20 == 0:
        print("probe", epoch, loss.item(), (logits.argmax(1) == Y).float().mean().item())
