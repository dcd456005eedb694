import torch
from torch import nn

torch.manual_seed(0)
T, B = 100, 16
beta = torch.linspace(1e-4, 0.02, T)
alpha_bar = torch.cumprod(1 - beta, dim=0)
images = torch.rand(256, 1, 16, 16) * 2 - 1
images[:, :, 4:12, 4:12] += 0.5


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Embedding(T, 16)
        self.inp = nn.Conv2d(1, 16, 3, padding=1)
        self.mid = nn.Conv2d(16, 16, 3, padding=1)
        self.out = nn.Conv2d(16, 1, 3, padding=1)

    def forward(self, x, t):
        h = torch.relu(self.inp(x) + self.time(t)[:, :, None, None])
        return self.out(torch.relu(self.mid(h)))


model = Denoiser()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(60):
    x0 = images[torch.randint(0, 256, (B,))]
    t = torch.randint(0, T, (B,))
    eps = torch.randn_like(x0)
    a = alpha_bar[t].view(-1, 1, 1, 1)
    xt = a.sqrt() * x0 + (1 - a).sqrt() * eps
    loss = nn.functional.mse_loss(model(xt, t), eps)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
