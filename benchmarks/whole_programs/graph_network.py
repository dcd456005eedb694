"""A graph network by hand: messages along edges, summed at the nodes, on the whole graph at each step."""

import torch
from laps import lap
from torch import nn

torch.manual_seed(0)
NODES, EDGES = 300, 2400
sources, ends = torch.randint(0, NODES, (2, EDGES))
group = torch.arange(NODES) % 3
features = torch.randn(NODES, 16) + group[:, None]
degree = torch.zeros(NODES).index_add_(0, ends, torch.ones(EDGES)).clamp(min=1)


class Layer(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.message = nn.Sequential(nn.Linear(2 * inner, outer), nn.ReLU())
        self.own = nn.Linear(inner, outer)

    def forward(self, x):
        messages = self.message(torch.cat([x[sources], x[ends]], 1))
        gathered = torch.zeros(NODES, messages.shape[1]).index_add(0, ends, messages)
        return torch.relu(self.own(x) + gathered / degree[:, None])


model = nn.Sequential(Layer(16, 32), Layer(32, 32), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=5e-4)
train = torch.rand(NODES) < 0.7
lap()
for epoch in range(1400):
    model.train()
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(features)[train], group[train])
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        right = (model(features).argmax(1) == group)[~train].float().mean().item()
    lap()
    if epoch % 100 == 0:
        print(epoch, loss.item(), right)
