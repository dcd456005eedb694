import torch
from torch import nn
import witness

witness.seed()
model = nn.Sequential(nn.Linear(5, 8), nn.Dropout(0.2), nn.GELU(), nn.Linear(8, 1))
compiled = torch.compile(model)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(4):
    x = torch.randn(10, 5)
    loss = (compiled(x) - x.mean(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    witness.swear("loss", loss)
    print(step, loss.item())
witness.swear("model", model)
witness.testify()
