import torch
from torch import nn

torch.manual_seed(0)
table = nn.Embedding(50, 8, sparse=True)
opt = torch.optim.SGD(table.parameters(), lr=1.0, weight_decay=1e-4)  # <- sparse-gradient
for step in range(5):
    ids = torch.randint(0, 50, (16, 2))
    a, b = table(ids).unbind(1)
    loss = -nn.functional.logsigmoid((a * b).sum(1)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
