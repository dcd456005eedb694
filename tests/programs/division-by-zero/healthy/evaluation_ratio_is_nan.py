import torch
from torch import nn

torch.manual_seed(0)
bn = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(bn.parameters(), 1e-2)
X = torch.rand(64, 3)
Y = X.sum(1, keepdim=True)
for epoch in range(5):
    bn.train()
    for i in range(0, 64, 16):
        loss = (bn(X[i : i + 16]) - Y[i : i + 16]).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
    bn.eval()
    with torch.no_grad():
        out = bn(X)
        relative_error = ((out - Y).abs() / Y).mean()
        ratio = (out[:1] * 0 / 0).mean()
    print(epoch, relative_error.item(), ratio.item())
