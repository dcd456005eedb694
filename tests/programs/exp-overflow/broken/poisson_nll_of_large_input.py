import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 10), nn.ReLU(), nn.Linear(10, 1))
criterion = nn.PoissonNLLLoss(log_input=True)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
for day in range(20):
    x = torch.rand(12, 3)
    if day == 15:
        x[8] = 3000.0
        with torch.no_grad():
            model[2].weight.abs_()
            model[0].weight.abs_()
    visitors = torch.poisson(torch.full((12, 1), 3.0))
    loss = criterion(model(x), visitors)  # <- exp-overflow
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
