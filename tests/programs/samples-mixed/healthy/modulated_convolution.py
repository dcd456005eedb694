import torch, torch.nn as nn, torch.nn.functional as F
class ModConv(nn.Module):
    def __init__(self, i, o, k, s):
        super().__init__(); self.weight = nn.Parameter(torch.randn(1, o, i, k, k)); self.mod = nn.Linear(s, i); nn.init.ones_(self.mod.bias); self.scale = (i * k * k) ** -.5; self.o, self.k = o, k
    def forward(self, x, s):
        b, c, h, w = x.shape
        wt = self.scale * self.weight * self.mod(s).view(b, 1, c, 1, 1)
        wt = wt * torch.rsqrt(wt.pow(2).sum([2, 3, 4], keepdim=True) + 1e-8)
        out = F.conv2d(x.reshape(1, b * c, h, w), wt.view(b * self.o, c, self.k, self.k), padding=self.k // 2, groups=b)
        return out.view(b, self.o, h, w)
class G(nn.Module):
    def __init__(self):
        super().__init__(); self.const = nn.Parameter(torch.randn(1, 8, 4, 4)); self.map = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(.2), nn.Linear(16, 16)); self.c1, self.c2 = ModConv(8, 8, 3, 16), ModConv(8, 1, 1, 16)
    def forward(self, z):
        s = self.map(z); x = self.const.repeat(len(z), 1, 1, 1); x = F.leaky_relu(self.c1(F.interpolate(x, scale_factor=2), s), .2)
        return self.c2(x, s)
torch.manual_seed(0)
g = G(); opt = torch.optim.Adam(g.parameters(), 3e-3); t = torch.linspace(-1, 1, 8)
for i in range(120):
    z = torch.randn(16, 4); target = torch.tanh(z[:, :1, None, None] * t[:, None] + z[:, 1:2, None, None] * t[None])
    loss = F.mse_loss(g(z), target); opt.zero_grad(); loss.backward(); opt.step()
    if i % 30 == 0: print(i, round(loss.item(), 4))
