# the untrained copy is evaluated beside the training loss; the trained model only at the end of a phase
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(800, 6)
y = x[:, :1] * x[:, 1:2]
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
start = copy.deepcopy(model).requires_grad_(False)
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    train_loss = 0.0
    for i in torch.randperm(600).split(30):
        loss = F.mse_loss(model(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        train_loss += loss.item() / 20
    with torch.no_grad():
        start_loss = F.mse_loss(start(x[:600]), y[:600]).item()
    print(f"{epoch}: {train_loss:.3f}, {100 * (1 - train_loss / start_loss):.0f}% explained")
