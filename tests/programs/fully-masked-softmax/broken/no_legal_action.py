import torch
import torch.nn.functional as F
from torch import nn


class ActorCritic(nn.Module):
    def __init__(self, size, actions):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(size, 24), nn.ReLU())
        self.actor, self.critic = nn.Linear(24, actions), nn.Linear(24, 1)

    def forward(self, state, legal):
        h = self.body(state)
        logits = torch.where(legal, self.actor(h), torch.tensor(float("-inf")))
        return F.log_softmax(logits, dim=-1), self.critic(h).squeeze(-1)  # <- fully-masked-softmax


def rollout(n, step):
    legal = torch.rand(n, 5) > 0.4
    legal[:, 0] = True
    if step == 17:
        legal[2] = False  # a finished game was not removed
    return torch.randn(n, 6), legal, torch.randn(n)


torch.manual_seed(0)
net = ActorCritic(6, 5)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(30):
    states, legal, returns = rollout(12, step)
    log_p, value = net(states, legal)
    action = legal.float().argmax(1)
    picked = log_p.gather(1, action[:, None]).squeeze(1)
    advantage = returns - value.detach()
    loss = -(picked * advantage).mean() + 0.5 * F.mse_loss(value, returns)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    optimizer.step()
