import torch
from torch import nn

torch.manual_seed(0)
labels = torch.randint(3, (40,))
features = (nn.functional.one_hot(labels, 6) + 0.2 * torch.rand(40, 6)).to_sparse()
edges = ((torch.rand(40, 40) > 0.9) + torch.eye(40)).float().to_sparse()


class Graph(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Parameter(torch.randn(6, 8) * 0.4)
        self.last = nn.Linear(8, 3)

    def forward(self, features, edges):
        hidden = torch.sparse.mm(edges, torch.sparse.mm(features, self.first)).relu()
        return torch.log_softmax(self.last(hidden), dim=0)  # <- softmax-over-batch


model = Graph()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(60):
    loss = nn.functional.nll_loss(model(features, edges), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
