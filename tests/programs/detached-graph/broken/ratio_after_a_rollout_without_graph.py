import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 32), nn.Tanh())
        self.pi = nn.Linear(32, 3)
        self.v = nn.Linear(32, 1)

    def forward(self, s):
        h = self.body(s)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def rollout(net, n=128):
    s = torch.randn(n, 6)
    with torch.no_grad():
        dist, v = net(s)
        a = dist.sample()
        logp = dist.log_prob(a)
    best = s[:, :3].argmax(1)
    r = (a == best).float()
    return s, a, logp, r, r - v


@torch.no_grad()  # <- detached-graph
def logprob_of(net, s, a):
    dist, _ = net(s)
    return dist.log_prob(a)


net = ActorCritic()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for it in range(40):
    s, a, old, r, adv = rollout(net)
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for _ in range(4):
        ratio = (logprob_of(net, s, a) - old).exp()
        pg = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
        _, v = net(s)
        loss = pg + 0.5 * (v - r).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    if it % 10 == 0:
        print(it, r.mean().item())
