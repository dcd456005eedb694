import torch
import torch.nn as nn

torch.manual_seed(0)
layers = []
for width in (100, 256, 256):
    layer = nn.Linear(width, 256)
    nn.init.normal_(layer.weight, mean=0.0, std=1.0)  # <- badly-scaled-initialisation
    nn.init.zeros_(layer.bias)
    layers += [layer, nn.Tanh()]
model = nn.Sequential(*layers, nn.Linear(256, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x, y = torch.randn(128, 100), torch.randint(0, 10, (128,))
for epoch in range(60):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
