import torch
from torch import nn
torch.manual_seed(0)
emb = nn.EmbeddingBag(1000, 16, sparse=True)
head = nn.Linear(16, 2)
sparse_opt = torch.optim.SparseAdam(emb.parameters(), lr=1e-2)
dense_opt = torch.optim.Adam(head.parameters(), lr=1e-2)
for step in range(40):
    ids = torch.randint(0, 1000, (32, 6))
    y = (ids.float().mean(1) > 500).long()
    loss = nn.functional.cross_entropy(head(emb(ids)), y)
    sparse_opt.zero_grad(); dense_opt.zero_grad()
    loss.backward()
    sparse_opt.step(); dense_opt.step()
