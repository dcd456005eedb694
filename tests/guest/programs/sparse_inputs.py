"""Its models take and give sparse tensors: a graph's features and edges."""

import torch
from torch import nn
import witness

witness.seed()


class Graph(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Parameter(torch.randn(6, 8) * 0.4)
        self.last = nn.Linear(8, 3)

    def forward(self, features, edges):
        return self.last(torch.sparse.mm(edges, torch.sparse.mm(features, self.first)).relu())


class Thinned(nn.Module):
    def forward(self, edges):
        return torch.sparse_coo_tensor(edges.indices(), edges.values() * 0.5, edges.shape)


labels = torch.randint(3, (40,))
features = (nn.functional.one_hot(labels, 6) + 0.2 * torch.rand(40, 6)).to_sparse()
edges = ((torch.rand(40, 40) > 0.9) + torch.eye(40)).float().to_sparse().coalesce()
model, thinned = Graph(), Thinned()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(30):
    loss = nn.functional.cross_entropy(model(features, thinned(edges)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    witness.swear("loss", loss)
witness.swear("model", model)
witness.testify()
