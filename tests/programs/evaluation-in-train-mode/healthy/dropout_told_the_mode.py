import torch
from torch import nn
import torch.nn.functional as F
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(10, 64); self.b = nn.Linear(64, 2); self.mha = nn.MultiheadAttention(10, 2, dropout=0.2, batch_first=True)
    def forward(self, x):
        h, _ = self.mha(x[:, None], x[:, None], x[:, None])
        h = F.relu(self.a(h[:, 0] + x))
        if self.training:
            h = F.dropout(h, 0.5)
        h = F.dropout(h, 0.1, self.training)
        return self.b(h)
torch.manual_seed(0)
x = torch.randn(500, 10); y = (x[:, 0] > 0).long()
model = Net(); opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(6):
    model.train()
    for i in range(0, 400, 40):
        loss = F.cross_entropy(model(x[i:i + 40]), y[i:i + 40]); opt.zero_grad(); loss.backward(); opt.step()
    model.eval()
    with torch.inference_mode():
        print((model(x[400:]).argmax(1) == y[400:]).float().mean().item())
