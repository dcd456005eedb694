# Last epochs with frozen batch statistics and without dropout: model.eval() in the loop, on purpose.
import torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(400, 8)
y = x[:, :3].argmax(1)
model = nn.Sequential(nn.Linear(8, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 3))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    if epoch < 5:
        model.train()
    else:
        model.eval()   # freeze statistics for the last epochs
    for rows in torch.randperm(320).split(32):
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        print(epoch, nn.functional.cross_entropy(model(x[320:]), y[320:]).item())
