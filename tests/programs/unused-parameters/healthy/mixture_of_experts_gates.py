import torch
import torch.nn.functional as F
from torch import nn


class Mixture(nn.Module):
    def __init__(self, experts=4):
        super().__init__()
        self.experts = nn.ModuleList([nn.Linear(8, 3) for _ in range(experts)])
        self.gate = nn.Linear(8, experts)

    def forward(self, x):
        gates = torch.softmax(self.gate(x), dim=-1)
        top, which = gates.topk(2, dim=-1)
        outputs = torch.stack([expert(x) for expert in self.experts], dim=1)
        chosen = outputs.gather(1, which.unsqueeze(-1).expand(-1, -1, 3))
        balance = (gates.mean(dim=0) ** 2).sum() * len(self.experts)
        return (chosen * (top / top.sum(dim=-1, keepdim=True)).unsqueeze(-1)).sum(dim=1), balance


torch.manual_seed(0)
model = Mixture()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(50):
    x = torch.randn(32, 8)
    logits, balance = model(x)
    loss = F.cross_entropy(logits, x[:, :3].argmax(dim=1)) + 0.01 * balance
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
