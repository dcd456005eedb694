import torch
from torch import nn


class Pooler(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(embed_dim=12, num_heads=3)  # <- lstm-batch-first
        self.norm = nn.LayerNorm(12)
        self.out = nn.Linear(12, 2)

    def forward(self, x):
        mixed, _ = self.attention(x, x, x, need_weights=False)
        return self.out(self.norm(x + mixed).mean(dim=1))


torch.manual_seed(0)
model = Pooler()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(25):
    x = torch.randn(20, 6, 12)
    y = (x[:, :, 0].max(dim=1).values > 1).long()
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
