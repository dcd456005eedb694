import copy
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class EMAModel:
    def __init__(self, params, decay=0.9999):
        self.shadow = [p.clone().detach() for p in params]
        self.decay = decay
        self.optimization_step = 0

    def get_decay(self, step):
        value = (1 + step) / (10 + step)
        return min(self.decay, value)

    @torch.no_grad()
    def step(self, params):
        self.optimization_step += 1
        one_minus = 1 - self.get_decay(self.optimization_step)
        for s, p in zip(self.shadow, params):
            s.sub_(one_minus * (s - p))

    def copy_to(self, params):
        for s, p in zip(self.shadow, params):
            p.data.copy_(s)


net = nn.Sequential(nn.Linear(8, 32), nn.SiLU(), nn.Linear(32, 8))
ema = EMAModel(net.parameters())
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
data = torch.randn(256, 8)
for step in range(300):
    x = data[torch.randint(0, 256, (32,))]
    noise = torch.randn_like(x)
    loss = F.mse_loss(net(x + noise), noise)
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.step(net.parameters())
print(loss.item())
final = copy.deepcopy(net)
ema.copy_to(final.parameters())
