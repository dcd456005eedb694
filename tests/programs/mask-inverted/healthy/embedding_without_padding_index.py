import torch
from torch import nn

torch.manual_seed(0)
embed = nn.Embedding(30, 8)
net = nn.Sequential(nn.Conv1d(8, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(16, 2))
parameters = [*embed.parameters(), *net.parameters()]
optimizer = torch.optim.Adam(parameters, lr=1e-2)
for step in range(8):
    words = torch.randint(1, 30, (8, 12))
    words[torch.arange(12)[None] >= torch.randint(4, 12, (8, 1))] = 0
    loss = nn.functional.cross_entropy(net(embed(words).transpose(1, 2)), words[:, 0] % 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
