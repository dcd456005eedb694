import torch
from torch import nn


class MLP(nn.Module):
    def __init__(self, width=50, depth=6):
        super().__init__()
        self.first = nn.Linear(10, width)
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))
        self.last = nn.Linear(width, 1)
        for layer in self.layers:
            nn.init.normal_(layer.weight, std=30)

    def forward(self, x):
        x = self.first(x)
        for layer, norm in zip(self.layers, self.norms):
            x = torch.relu(norm(layer(x)))
        return self.last(x)


torch.manual_seed(5)
model = MLP()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(200, 10)
y = x.sum(1, keepdim=True)
for epoch in range(20):
    for i in range(0, 200, 20):
        loss = ((model(x[i:i + 20]) - y[i:i + 20]) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
