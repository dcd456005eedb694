"""Policy gradient with returns as (T,1) against log-probs (T,)."""
import torch
from torch import nn
from torch.distributions import Categorical
torch.manual_seed(0)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 2))
        self.v = nn.Linear(4, 1)

    def forward(self, s):
        return Categorical(logits=self.pi(s)), self.v(s)


agent = Agent()
opt = torch.optim.Adam(agent.parameters(), lr=5e-3)


def play(T=30):
    s, S, A, R = torch.randn(4), [], [], []
    for _ in range(T):
        with torch.no_grad():
            d, _ = agent(s)
        a = d.sample()
        S.append(s); A.append(a)
        s = 0.9 * s + 0.2 * (a.item() * 2 - 1) * torch.tensor([1.0, -1.0, 0.5, 0.0])
        R.append(1.0 - s.abs().mean().item())
    G, acc = [], 0.0
    for r in reversed(R):
        acc = r + 0.9 * acc
        G.insert(0, acc)
    return torch.stack(S), torch.stack(A), torch.tensor(G).unsqueeze(1)


for it in range(40):
    S, A, G = play()
    dist, v = agent(S)
    adv = (G - v).detach()
    policy_loss = -(dist.log_prob(A) * adv).mean()  # <- broadcast-in-loss
    value_loss = (G - v).pow(2).mean()
    opt.zero_grad()
    (policy_loss + 0.5 * value_loss).backward()
    opt.step()
    if it % 10 == 0:
        print(it, G.mean().item())
