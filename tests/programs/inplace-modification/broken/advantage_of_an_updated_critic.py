import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
value_net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
policy_opt = torch.optim.Adam(policy.parameters(), lr=3e-3)
value_opt = torch.optim.Adam(value_net.parameters(), lr=3e-3)
for update in range(120):
    states = torch.randn(128, 4)
    dist = torch.distributions.Categorical(logits=policy(states))
    actions = dist.sample()
    returns = (actions == states[:, :3].argmax(1)).float() + 0.1 * torch.randn(128)
    values = value_net(states).squeeze(1)
    advantage = returns - values
    value_loss = advantage.pow(2).mean()
    policy_loss = -(dist.log_prob(actions) * advantage).mean()
    value_opt.zero_grad()
    value_loss.backward(retain_graph=True)
    value_opt.step()  # <- inplace-modification
    policy_opt.zero_grad()
    policy_loss.backward()
    policy_opt.step()
