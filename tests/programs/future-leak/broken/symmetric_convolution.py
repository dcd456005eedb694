import torch
from torch import nn

torch.manual_seed(0)
embed = nn.Embedding(8, 12)
mix = nn.Conv1d(12, 16, kernel_size=3, padding=1)
head = nn.Conv1d(16, 8, kernel_size=1)
parameters = [*embed.parameters(), *mix.parameters(), *head.parameters()]
optimizer = torch.optim.Adam(parameters, lr=3e-3)
series = torch.randint(0, 8, (32, 21))
for step in range(12):
    batch = series[torch.randint(0, 32, (4,))]
    x, y = batch[:, :-1], batch[:, 1:]
    h = torch.relu(mix(embed(x).transpose(1, 2)))  # <- future-leak
    loss = nn.functional.cross_entropy(head(h), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
