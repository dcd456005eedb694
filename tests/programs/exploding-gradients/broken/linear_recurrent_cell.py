import torch
from torch import nn


class Memory(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.step = nn.Linear(size, size, bias=False)
        self.read = nn.Linear(size, 1)
        nn.init.normal_(self.step.weight, std=0.45)

    def forward(self, x):
        state = x[:, 0]
        for t in range(1, x.shape[1]):
            state = self.step(state) + x[:, t]  # <- exploding-gradients
        return self.read(state)


torch.manual_seed(0)
model = Memory(16)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
x, y = torch.randn(32, 50, 16), torch.randn(32, 1)
for epoch in range(100):
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
