import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 2))
opt = torch.optim.Adam(model.parameters(), 3e-3)
data = torch.randint(0, 2, (512, 2)) * 2.0 - 1
for step in range(150):
    x0 = data[torch.randint(0, 512, (64,))]
    x0 = x0 + 0.05 * torch.randn_like(x0)
    t = torch.rand(64, 1)
    noise = torch.randn_like(x0)
    xt = (1 - t).sqrt() * x0 + t.sqrt() * noise
    loss = nn.functional.mse_loss(model(torch.cat([xt, t], 1)), noise)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print(step, loss.item())
