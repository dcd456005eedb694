import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.05, total_steps=30)
x = torch.randn(64, 4)
for step in range(40):
    loss = (model(x) - x[:, :1]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    try:
        scheduler.step()
    except ValueError:
        print("the cycle is over")
        break
