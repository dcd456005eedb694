import torch
from torch import nn
import torch.nn.functional as F
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(10, 64); self.b = nn.Linear(64, 2)
    def forward(self, x):
        return self.b(F.dropout(F.relu(self.a(x)), 0.5))
torch.manual_seed(0)
x = torch.randn(500, 10); y = (x[:, 0] > 0).long()
model = Net(); opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(6):
    for i in range(0, 400, 40):
        loss = F.cross_entropy(model(x[i:i + 40]), y[i:i + 40]); opt.zero_grad(); loss.backward(); opt.step()
model.eval()
test = x[400:]
with torch.no_grad():
    p = torch.stack([model(test).softmax(1) for _ in range(10)])
print(p.std(0).mean())
