"""Forbidden transitions are the log of 0 in a constant matrix; every state can still be reached."""
import torch
from torch import nn

torch.manual_seed(0)
transition = torch.tensor([[0.7, 0.3, 0.0], [0.0, 0.8, 0.2], [0.5, 0.0, 0.5]])
log_transition = transition.log()
emission = nn.Linear(2, 3)
optimizer = torch.optim.Adam(emission.parameters(), lr=1e-2)
for step in range(8):
    x = torch.randn(4, 6, 2)
    log_emission = torch.log_softmax(emission(x), dim=-1)
    alpha = torch.zeros(4, 3)
    for t in range(6):
        alpha = torch.logsumexp(alpha[:, :, None] + log_transition, dim=1) + log_emission[:, t]
    loss = -torch.logsumexp(alpha, dim=1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
