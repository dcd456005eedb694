import copy
import torch
from torch import nn


def critic():
    return nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))


torch.manual_seed(0)
q1, q2 = critic(), critic()
t1, t2 = copy.deepcopy(q1), copy.deepcopy(q2)
actor = nn.Linear(4, 1)
critic_optimizer = torch.optim.Adam([*q1.parameters(), *q2.parameters()], lr=1e-3)
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
tau = 0.005
for step in range(40):
    state, following = torch.randn(64, 4), torch.randn(64, 4)
    action = torch.tanh(torch.randn(64, 1))
    with torch.no_grad():
        move = torch.tanh(actor(following))
        pair = torch.cat([following, move], 1)
        wanted = state[:, :1] * action + 0.9 * torch.min(t1(pair), t2(pair))
    pair = torch.cat([state, action], 1)
    loss = nn.functional.mse_loss(q1(pair), wanted) + nn.functional.mse_loss(q2(pair), wanted)
    critic_optimizer.zero_grad()
    loss.backward()
    critic_optimizer.step()
    goal = -q1(torch.cat([state, torch.tanh(actor(state))], 1)).mean()
    actor_optimizer.zero_grad()
    goal.backward()
    actor_optimizer.step()
    for live, slow in ((q1, t1), (q2, t2)):
        for p, tp in zip(live.parameters(), slow.parameters()):
            tp.data.mul_(1 - tau)
            tp.data.add_(tau * p.data)
