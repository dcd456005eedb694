import torch
from torch import nn
from torch.nn.functional import relu, mse_loss

torch.manual_seed(0)


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(4, 32)
        self.norm = nn.LayerNorm(32)
        self.out = nn.Linear(32, 1)

    def forward(self, x):
        h = self.norm(self.hidden(x))
        relu(h)  # <- discarded-result
        return self.out(h)


model = Regressor()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
x = torch.randn(128, 4)
y = x.norm(dim=1, keepdim=True)
for step in range(30):
    optimizer.zero_grad()
    loss = mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
