"""scaled_dot_product_attention gives 0 for a row in which nothing may be attended to."""
import torch
import torch.nn.functional as F
from torch import nn


class Attend(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, 1)

    def forward(self, x, keep):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=keep[:, None, :])
        return self.out(mixed).mean(1)


torch.manual_seed(0)
model = Attend()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(10):
    x = torch.randn(4, 5, 8)
    keep = torch.arange(5)[None] < torch.tensor([5, 3, 1, 0])[:, None]
    loss = model(x, keep).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
