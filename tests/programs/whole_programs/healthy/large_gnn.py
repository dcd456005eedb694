import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Conv(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.own = nn.Linear(width, width)
        self.message = nn.Linear(width, width, bias=False)

    def forward(self, x, edges, degree):
        h = self.norm(x)
        gathered = torch.zeros_like(h).index_add(0, edges[1], self.message(h)[edges[0]])
        return x + F.relu(self.own(h) + gathered / degree)


class Graph(nn.Module):
    def __init__(self, width=16, depth=80):
        super().__init__()
        self.given = nn.Linear(4, width)
        self.layers = nn.ModuleList(Conv(width) for _ in range(depth))
        self.head = nn.Linear(width, 3)

    def forward(self, x, edges, degree):
        x = self.given(x)
        for layer in self.layers:
            x = layer(x, edges, degree)
        return self.head(x)


nodes = 150
features = torch.randn(nodes, 4)
labels = features[:, :3].argmax(1)
edges = torch.randint(0, nodes, (2, 600))
degree = torch.zeros(nodes, 1).index_add(0, edges[1], torch.ones(600, 1)).clamp(min=1)
train = torch.arange(nodes) < 100
model = Graph()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(20):
    loss = F.cross_entropy(model(features, edges, degree)[train], labels[train])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 10 == 0:
        print(epoch, loss.item())
