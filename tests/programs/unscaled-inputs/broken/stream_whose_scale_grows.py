# the scale of a stream grows; the rate was fine
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(400):
    x = torch.randn(32, 6) * (1.05 ** step)
    y = x.sum(1, keepdim=True)
    loss = nn.functional.mse_loss(model(x), y)  # <- unscaled-inputs
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 50 == 0:
        print(step, loss.item())
