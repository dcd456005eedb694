"""Sample weights are one over how often a user appears; new users appear never."""
import torch
from torch import nn

torch.manual_seed(0)
users = torch.randint(0, 8, (60,))
ratings = torch.rand(60)
seen = torch.zeros(10).index_add(0, users, torch.ones(60))


def propensity(u):
    return 1.0 / seen[u]  # <- division-by-zero


embedding = nn.Embedding(10, 4)
score = nn.Linear(4, 1)
optimizer = torch.optim.SGD(list(embedding.parameters()) + list(score.parameters()), lr=0.05)
for round_ in range(15):
    u = users[torch.randint(0, 60, (12,))]
    if round_ == 11:
        u[7] = 9  # a user who signed up today
    error = (score(embedding(u)).squeeze(1) - ratings[:12]) ** 2
    loss = (propensity(u) * error).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
