# Memorisation: few rows, 40 % wrong labels; the validation error (k/400) is best early and then rises; the rate is cut as intended.
import torch
from torch import nn
torch.manual_seed(0)
w = torch.randn(20, 1)
x, xv = torch.randn(200, 20), torch.randn(400, 20)
y = (((x @ w) > 0) ^ (torch.rand(200, 1) < 0.3)).float()
yv = ((xv @ w) > 0).float()
base = nn.Linear(20, 1)
with torch.no_grad():
    base.weight.copy_(w.t() * 0.3)
    base.bias.zero_()  # yesterday's model
class Corrected(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = base
        self.more = nn.Sequential(nn.Linear(20, 256), nn.ReLU(), nn.Linear(256, 1))
    def forward(self, x):
        return self.base(x) + self.more(x)
model = Corrected()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode="min", factor=0.8, patience=4)
for epoch in range(40):
    for rows in torch.randperm(200).split(50):
        loss = nn.functional.binary_cross_entropy_with_logits(model(x[rows]), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        error = ((model(xv) > 0).float() != yv).sum().item() / 400
    sched.step(error)
    print(epoch, round(loss.item(), 3), error, opt.param_groups[0]["lr"])
