import torch
from torch import nn
class Spectral(nn.Module):
    def __init__(self, n=32):
        super().__init__()
        self.w = nn.Parameter(torch.randn(n // 2 + 1, dtype=torch.cfloat) * .1)
        self.out = nn.Linear(n, 1)
    def forward(self, x):
        f = torch.fft.fft(x)
        f = f[..., : self.w.numel()] * self.w
        y = torch.fft.ifft(f, n=x.size(-1))
        return self.out(y)  # <- dtype-mismatch
net = Spectral()
opt = torch.optim.Adam(net.parameters())
for _ in range(5):
    x = torch.randn(8, 32)
    loss = (net(x) - x.mean(1, keepdim=True)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
