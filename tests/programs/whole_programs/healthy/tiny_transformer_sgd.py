import torch
from torch import nn
torch.manual_seed(0)
class T(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(20, 32); self.p = nn.Parameter(torch.randn(12, 32) * 0.02)
        self.b = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, 0.1, batch_first=True), 2); self.h = nn.Linear(32, 20)
    def forward(self, t):
        return self.h(self.b(self.e(t) + self.p[: t.shape[1]]))
net = T(); opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for i in range(60):
    s = torch.randint(0, 20, (16, 12))
    loss = nn.functional.cross_entropy(net(s).reshape(-1, 20), s.flip(1).reshape(-1))
    opt.zero_grad(); loss.backward(); opt.step()
