"""Queries that compete for the inputs: shares over the queries, and sums over the inputs that are not normalised."""
import torch
from torch import nn

torch.manual_seed(0)


class Compete(nn.Module):
    def __init__(self, dim=16, count=4):
        super().__init__()
        self.queries = nn.Parameter(torch.randn(count, dim))
        self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.out = nn.Linear(count * dim, 1)

    def forward(self, x):
        q = self.queries.expand(x.shape[0], -1, -1)
        share = torch.softmax(torch.bmm(q, self.k(x).transpose(1, 2)) / 4, dim=1)
        return self.out(torch.bmm(share, self.v(x)).flatten(1))


net = Compete()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(150):
    x = torch.randn(32, 10, 16)
    loss = nn.functional.mse_loss(net(x), x[:, :, :1].sum(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
