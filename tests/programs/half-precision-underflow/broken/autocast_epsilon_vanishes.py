import torch
from torch import nn


class Share(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(5, 7, bias=False)

    def forward(self, x):
        s = torch.relu(self.score(x))
        return s / (s.sum(-1, keepdim=True) + 1e-8)  # <- half-precision-underflow


torch.manual_seed(0)
model = Share()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(10):
    x = torch.rand(6, 5)
    if step == 7:
        x[2] = 0
    with torch.autocast("cpu", dtype=torch.float16):
        share = model(x)
    loss = (share.float() ** 2).sum(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
