import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
opt = torch.optim.Adam(policy.parameters(), 0.01)
sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, "max", patience=20)
baseline = 0.0
for episode in range(150):
    s = torch.randn(64, 3)
    dist = torch.distributions.Categorical(logits=policy(s))
    a = dist.sample()
    reward = ((s[:, 0] > 0).long() == a).float()
    loss = -((reward - baseline) * dist.log_prob(a)).mean() - 0.01 * dist.entropy().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    baseline = 0.9 * baseline + 0.1 * reward.mean().item()
    sched.step(baseline)
    if episode % 30 == 0:
        print(episode, reward.mean().item())
