import torch
from torch import nn
torch.manual_seed(0)
emb = nn.Embedding(1000, 16, sparse=True)
lin = nn.Linear(16, 2)
o1 = torch.optim.SparseAdam(list(emb.parameters()), lr=1e-2)
o2 = torch.optim.Adam(lin.parameters(), lr=1e-2)
for step in range(120):
    idx = torch.randint(0, 50, (32,))
    loss = nn.functional.cross_entropy(lin(emb(idx)), idx % 2)
    o1.zero_grad(); o2.zero_grad()
    loss.backward()
    o1.step(); o2.step()
