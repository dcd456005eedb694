import torch
from torch import nn
torch.manual_seed(0)
class LoRALinear(nn.Module):
    def __init__(self, base, r=2):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.A = nn.Parameter(torch.randn(r, base.in_features) * 0.01)
        self.B = nn.Parameter(torch.zeros(base.out_features, r))
    def forward(self, x): return self.base(x) + x @ self.A.T @ self.B.T
model = nn.Sequential(LoRALinear(nn.Linear(6, 32)), nn.ReLU(), LoRALinear(nn.Linear(32, 3)))
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
for step in range(40):
    x = torch.randn(32, 6)
    loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
    loss.backward(); opt.step(); opt.zero_grad()
