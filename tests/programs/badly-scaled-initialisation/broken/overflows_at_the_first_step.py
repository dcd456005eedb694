import torch
from torch import nn


class MLP(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        for layer in self.layers:
            nn.init.normal_(layer.weight, std=30)  # <- badly-scaled-initialisation

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        return self.layers[-1](x)


torch.manual_seed(5)
model = MLP([10] + [50] * 10 + [1])
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
