# A sigmoid is appended once training is over.
import torch, torch.nn as nn

torch.manual_seed(0)
x = torch.randn(400, 6)
y = (x[:, :1] > 0).float()
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(model.parameters(), 1e-2)
crit = nn.BCEWithLogitsLoss()
for e in range(60):
    loss = crit(model(x[:300]), y[:300])
    opt.zero_grad()
    loss.backward()
    opt.step()
model.append(nn.Sigmoid())
model.eval()
with torch.no_grad():
    pred = model(x[300:]).round()
print((pred == y[300:]).float().mean().item())
