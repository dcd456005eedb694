import torch
from torch import nn

torch.manual_seed(0)
images = torch.rand(128, 36)
images = (images - 0.5) / 0.5
model = nn.Sequential(nn.Linear(36, 12), nn.ReLU(), nn.Linear(12, 36), nn.Identity())
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(60):
    batch = images[torch.randint(0, 128, (32,))]
    loss = nn.functional.binary_cross_entropy_with_logits(model(batch), batch)  # <- impossible-loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
