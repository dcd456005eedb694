import torch
from torch import nn

torch.manual_seed(0)
pi = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
v = nn.Linear(4, 1)
opt = torch.optim.Adam([*pi.parameters(), *v.parameters()], 3e-3)
for it in range(5):
    s = torch.randn(32, 4)
    mask = torch.rand(32, 2) > 0.3
    mask[:, 0] = True
    with torch.no_grad():
        d = torch.distributions.Categorical(logits=pi(s).masked_fill(~mask, -1e9))
        a = d.sample()
        old = d.log_prob(a)
        R = torch.randn(32)
        adv = R - v(s).squeeze(1)
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for ep in range(3):
        d = torch.distributions.Categorical(logits=pi(s).masked_fill(~mask, -1e9))
        ratio = (d.log_prob(a) - old).exp()
        l = (
            -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
            + 0.5 * (v(s).squeeze(1) - R).pow(2).mean()
            - 0.01 * d.entropy().mean()
        )
        opt.zero_grad()
        l.backward()
        nn.utils.clip_grad_norm_(pi.parameters(), 0.5)
        opt.step()
