import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x, mask):
        weights = (self.q(x) @ self.k(x).transpose(1, 2) / x.shape[-1] ** 0.5).softmax(dim=-1)
        weights = weights * mask.unsqueeze(1)  # <- mask-inverted
        return weights @ self.v(x)


torch.manual_seed(0)
embed, attention, head = nn.Embedding(11, 12), Attention(12), nn.Linear(12, 4)
modules = nn.ModuleList([embed, attention, head])
optimizer = torch.optim.Adam(modules.parameters(), lr=1e-3)
for step in range(8):
    ids = torch.randint(1, 11, (6, 7))
    ids[torch.arange(7)[None] >= torch.tensor([2, 7, 4, 5, 3, 6])[:, None]] = 0
    mask = (ids != 0).float()
    logits = head(attention(embed(ids), mask))
    loss = nn.functional.cross_entropy(logits[:, 0], ids[:, 1] % 4)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
