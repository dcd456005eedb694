import torch
from torch import nn

torch.manual_seed(0)
income = torch.rand(256, 3) * 80_000
label = (income[:, :1] > income[:, 1:2]).float()
model = nn.Sequential(nn.Linear(3, 16), nn.Sigmoid(), nn.Linear(16, 1), nn.Sigmoid())
criterion = nn.BCELoss()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(150):
    out = model(income)  # <- unscaled-inputs
    loss = criterion(out, label)
    opt.zero_grad()
    loss.backward()
    opt.step()
