import torch
from torch import nn
torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3)); critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=3e-4)
for it in range(15):
    s = torch.randn(128, 4)
    with torch.no_grad():
        d = torch.distributions.Categorical(logits=actor(s)); a = d.sample(); old = d.log_prob(a)
        r = (a == s[:, :3].argmax(1)).float() * it + torch.randn(128) * it
        adv = r - critic(s)[:, 0]
    for ep in range(4):
        d = torch.distributions.Categorical(logits=actor(s)); ratio = (d.log_prob(a) - old).exp()
        loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean() + 0.5 * (critic(s)[:, 0] - r).pow(2).mean() - 0.01 * d.entropy().mean()
        opt.zero_grad(); loss.backward(); opt.step()
