import torch
from torch import nn

torch.manual_seed(0)
hours = torch.rand(128, 3)
ages = 20 + 50 * hours[:, :1]
model = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1), nn.Sigmoid())  # <- activation-on-logits
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(40):
    error = model(hours) - ages
    loss = error.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
