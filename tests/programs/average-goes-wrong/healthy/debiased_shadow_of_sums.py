import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
shadow = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
total, decay = 0.0, 0.9
for step in range(40):
    x = torch.randn(32, 6)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        total = decay * total + 1
        for name, p in model.named_parameters():
            shadow[name].mul_(decay).add_(p)
average = {name: value / total for name, value in shadow.items()}
model.load_state_dict(average)
