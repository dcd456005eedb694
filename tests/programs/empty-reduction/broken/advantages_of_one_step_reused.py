import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(7)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 32), nn.Tanh())
        self.logits = nn.Linear(32, 2)
        self.value = nn.Linear(32, 1)

    def forward(self, s):
        h = self.body(s)
        return Categorical(logits=self.logits(h)), self.value(h).squeeze(-1)


class Corridor:
    def reset(self):
        self.s = torch.randn(3)
        self.t = 0
        return self.s

    def step(self, a):
        r = float(self.s[0] > 0) if a == 1 else float(self.s[0] <= 0)
        self.s = torch.randn(3)
        self.t += 1
        done = self.t >= 12 or self.s[1] > 1.6
        return self.s, r, bool(done)


def gae(rewards, values, gamma=0.9, lam=0.95):
    out, last = [], 0.0
    values = values.tolist() + [0.0]
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * values[t + 1] - values[t]
        last = delta + gamma * lam * last
        out.insert(0, last)
    return torch.tensor(out)


def ppo_update(policy, opt, batch, clip=0.2):
    s, a, old, adv, ret = batch
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)  # <- empty-reduction
    for _ in range(3):
        dist, v = policy(s)
        ratio = (dist.log_prob(a) - old).exp()
        pg = -torch.min(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv).mean()
        loss = pg + 0.5 * (v - ret).square().mean() - 0.01 * dist.entropy().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


env, policy = Corridor(), Policy()
opt = torch.optim.Adam(policy.parameters(), 3e-3)
for episode in range(60):
    s, done, traj = env.reset(), False, []
    while not done:
        with torch.no_grad():
            dist, v = policy(s)
            a = dist.sample()
        n, r, done = env.step(int(a))
        traj.append((s, a, dist.log_prob(a), v, r))
        s = n
    S, A, L, V = (torch.stack(c) for c in list(zip(*traj))[:4])
    R = [t[4] for t in traj]
    adv = gae(R, V)
    ppo_update(policy, opt, (S, A, L, adv, adv + V))
print("done", sum(R))
