import torch
from torch import nn


class GraphAttention(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.project = nn.Linear(width, out, bias=False)
        self.left, self.right = nn.Linear(out, 1, bias=False), nn.Linear(out, 1, bias=False)

    def forward(self, x, adjacency):
        h = self.project(x)
        scores = nn.functional.leaky_relu(self.left(h) + self.right(h).T, 0.2)
        scores = scores.masked_fill(adjacency == 0, float("-inf"))
        return torch.softmax(scores, dim=1) @ h


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = GraphAttention(8, 16), GraphAttention(16, 3)

    def forward(self, x, adjacency):
        return self.two(torch.relu(self.one(x, adjacency)), adjacency)


torch.manual_seed(0)
x = torch.randn(40, 8)
adjacency = ((torch.rand(40, 40) < 0.1) | torch.eye(40, dtype=torch.bool)).float()
labels = x[:, :3].argmax(dim=1)
train = torch.rand(40) < 0.6
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(40):
    logits = model(x, adjacency)
    loss = nn.functional.cross_entropy(logits[train], labels[train])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
