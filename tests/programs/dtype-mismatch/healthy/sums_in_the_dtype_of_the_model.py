import torch
from torch import nn


class MessagePassing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.message = nn.Linear(2 * dim, dim)

    def forward(self, h, edges):
        src, dst = edges
        m = torch.relu(self.message(torch.cat([h[src], h[dst]], dim=-1)))
        out = m.new_zeros(h.size(0), m.size(1))
        out.index_add_(0, dst, m)
        return h + out


class GNN(nn.Module):
    def __init__(self, features, dim, layers):
        super().__init__()
        self.embed = nn.Linear(features, dim)
        self.layers = nn.ModuleList(MessagePassing(dim) for _ in range(layers))
        self.readout = nn.Linear(dim, 2)

    def forward(self, x, edges):
        h = self.embed(x)
        for layer in self.layers:
            h = layer(h, edges)
        return self.readout(h)


torch.manual_seed(32)
dtype = torch.bfloat16
x = torch.randn(40, 7, dtype=dtype)
edges = torch.randint(0, 40, (2, 160))
y = (x[:, 0] + x[:, 1] > 0).long()
model = GNN(7, 32, 2).to(dtype)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(40):
    loss = nn.functional.cross_entropy(model(x, edges), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
