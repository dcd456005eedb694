import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
data = torch.randn(20, 32, 6)
for x in data:
    loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
    opt.zero_grad(); loss.backward(); opt.step()
model[1].reset_running_stats()
with torch.no_grad():
    for x in data:
        model(x)
model.eval()
with torch.no_grad():
    print(model(data[0]).argmax(1)[:3])
