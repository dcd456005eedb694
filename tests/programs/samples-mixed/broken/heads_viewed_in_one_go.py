import torch
from torch import nn


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(12, 12), nn.Linear(12, 12), nn.Linear(12, 12)
        self.out = nn.Linear(12, 2)

    def split(self, x):
        n, t, _ = x.shape
        return x.view(n, 3, t, 4)  # <- samples-mixed

    def forward(self, x):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.out(mixed.transpose(1, 2).flatten(2).mean(dim=1))


torch.manual_seed(0)
model = Heads()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(25):
    x = torch.randn(16, 6, 12)
    y = (x[:, 0, 0] > 0).long()
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
