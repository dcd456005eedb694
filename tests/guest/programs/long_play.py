"""Plays hundreds of moves with its policy before the first update."""

import torch
from torch import nn
import witness

witness.seed()
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
for update in range(3):
    state, terms = torch.zeros(4), []
    for move in range(600):
        choice = torch.distributions.Categorical(logits=policy(state))
        action = choice.sample()
        state = (state + 0.1 * torch.randn(4) + 0.01 * action).clamp(-1, 1)
        terms.append(choice.log_prob(action) * state[0].detach())
    loss = -torch.stack(terms).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(update, loss.item())
    witness.swear("loss", loss)
witness.swear("policy", policy)
witness.swear("optimizer", optimizer)
witness.testify()
