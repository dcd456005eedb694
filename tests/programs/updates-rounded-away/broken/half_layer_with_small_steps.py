import torch
from torch import nn

torch.manual_seed(0)


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.layers(x)


model = Regressor().half()  # <- updates-rounded-away
optimizer = torch.optim.SGD(model.parameters(), lr=2e-6)
x = torch.randn(200, 20)
y = x.mean(1, keepdim=True)
for epoch in range(50):
    optimizer.zero_grad()
    loss = ((model(x.half()).float() - y) ** 2).mean()
    loss.backward()
    optimizer.step()
