import torch
from torch import nn
torch.manual_seed(0)
class Ortho(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.eye(6))     # identity start
        self.f = nn.Linear(6, 1)
    def forward(self, x):
        u, s, v = torch.linalg.svd(self.w)  # <- division-by-zero
        return self.f(x @ (u @ v) + x @ u)
net = Ortho()
opt = torch.optim.Adam(net.parameters(), 1e-2)
for i in range(5):
    x = torch.randn(16, 6)
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    print(i, loss.item())
