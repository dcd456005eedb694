import torch
from torch import nn
torch.manual_seed(0)
class Flow(nn.Module):
    def __init__(self, d=4):
        super().__init__()
        self.W = nn.Parameter(torch.eye(d)[[1, 0, 2, 3]] * 1.3 + .05 * torch.randn(d, d)); self.s = nn.Parameter(torch.zeros(d))
    def forward(self, x):
        z = x @ self.W * self.s.exp()
        return z, torch.log(torch.det(self.W)) + self.s.sum()  # <- log-of-nonpositive
f = Flow(); opt = torch.optim.Adam(f.parameters(), 1e-3)
for i in range(10):
    x = torch.randn(32, 4)
    z, ld = f(x)
    loss = (.5 * z.pow(2).sum(1) - ld).mean()
    opt.zero_grad(); loss.backward(); opt.step()
