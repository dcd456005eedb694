import torch
import torch.nn.functional as F
from torch import nn


class Forecast(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.up = nn.Linear(2, width)
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.down = nn.Linear(width, 2)

    def forward(self, x):
        h = self.up(x)
        h = h + F.scaled_dot_product_attention(self.q(h), self.k(h), self.v(h))  # <- future-leak
        return self.down(h)


torch.manual_seed(0)
t = torch.arange(400) * 0.2
series = torch.stack([t.sin(), (0.5 * t).cos()], dim=1) + 0.1 * torch.randn(400, 2)
model = Forecast()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(12):
    starts = torch.randint(0, 370, (6,)).tolist()
    x = torch.stack([series[i : i + 20] for i in starts])
    y = torch.stack([series[i + 1 : i + 21] for i in starts])
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
