import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
X = torch.randn(200, 3); Y = X.sum(1, keepdim=True)
for step in range(60):
    i = torch.randint(0, 200, (32,))
    loss = nn.functional.mse_loss(model(X[i]), Y[i])
    optimizer.zero_grad(); loss.backward(); optimizer.step()
def predict(x, n=30):
    model.train()
    out = []
    with torch.no_grad():
        for _ in range(n):
            out.append(model(x))
    return torch.stack(out)
p = predict(X[:5])
print(p.mean(0), p.std(0))
