import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2))
target = policy  # <- load-without-effect
opt = torch.optim.Adam(policy.parameters(), lr=1e-3)
for step in range(60):
    state, following = torch.randn(32, 2), torch.randn(32, 2)
    action = torch.randint(0, 2, (32, 1))
    with torch.no_grad():
        goal = state[:, :1] + 0.9 * target(following).max(1, keepdim=True)[0]
    loss = nn.functional.smooth_l1_loss(policy(state).gather(1, action), goal)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        target.load_state_dict(policy.state_dict())
