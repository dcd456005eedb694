import torch
from torch import nn


class GraphNet(nn.Module):
    """Every node sees a summary of the whole graph: a softmax over the nodes, which are the first dimension."""

    def __init__(self):
        super().__init__()
        self.embed, self.gate, self.out = nn.Linear(6, 16), nn.Linear(16, 1), nn.Linear(32, 3)

    def forward(self, x):
        h = torch.relu(self.embed(x))
        weights = torch.softmax(self.gate(h), dim=0)
        summary = (weights * h).sum(dim=0, keepdim=True).expand_as(h)
        return self.out(torch.cat([h, summary], dim=1))


torch.manual_seed(0)
model = GraphNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.randn(30, 6)
labels = x[:, :3].argmax(dim=1)
for step in range(40):
    loss = nn.functional.cross_entropy(model(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
