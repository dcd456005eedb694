import torch
from torch import nn
torch.manual_seed(0)
X, Xv = torch.randn(200, 5), torch.randn(80, 5)
Y, Yv = X.sum(1, keepdim=True), Xv.sum(1, keepdim=True)
model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Dropout(0.4), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(50):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(X), Y)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        val = nn.functional.mse_loss(model(Xv), Yv)  # <- evaluation-in-train-mode
