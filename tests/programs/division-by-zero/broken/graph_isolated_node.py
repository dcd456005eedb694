"""Graph convolution with D^-1/2 A D^-1/2, and a node that has no edge."""
import torch
from torch import nn


def normalised(adjacency):
    degree = adjacency.sum(1)
    inverse_root = degree.pow(-0.5)  # <- division-by-zero
    return inverse_root[:, None] * adjacency * inverse_root[None, :]


class GCN(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.first, self.second = nn.Linear(a, 16), nn.Linear(16, b)

    def forward(self, x, laplacian):
        return self.second(laplacian @ torch.relu(self.first(laplacian @ x)))


torch.manual_seed(0)
edges = torch.randint(0, 11, (2, 40))
adjacency = torch.zeros(12, 12)
adjacency[edges[0], edges[1]] = 1.0
adjacency[edges[1], edges[0]] = 1.0
laplacian = normalised(adjacency)
x, y = torch.randn(12, 5), torch.randint(0, 3, (12,))
model = GCN(5, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4)
for epoch in range(5):
    loss = nn.functional.cross_entropy(model(x, laplacian), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
