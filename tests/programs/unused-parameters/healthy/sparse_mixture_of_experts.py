"""Sparse MoE: top-2 routing, some experts idle in a batch, noisy gate, balance loss; argmax for a log."""
import torch
from torch import nn
import torch.nn.functional as F


class SparseMoE(nn.Module):
    def __init__(self, d=12, n=6, k=2):
        super().__init__()
        self.gate, self.noise = nn.Linear(d, n, bias=False), nn.Linear(d, n, bias=False)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(d, 24), nn.ReLU(), nn.Linear(24, d)) for _ in range(n))
        self.k = k

    def forward(self, x):
        logits = self.gate(x)
        if self.training:
            logits = logits + torch.randn_like(logits) * F.softplus(self.noise(x))
        top, idx = logits.topk(self.k, dim=-1)
        weights = torch.full_like(logits, float("-inf")).scatter(-1, idx, top).softmax(-1)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            rows = (idx == e).any(-1).nonzero().squeeze(-1)
            if rows.numel():
                out = out.index_add(0, rows, weights[rows, e:e + 1] * expert(x[rows]))
        self.balance = weights.sum(0).var() / (weights.sum(0).mean() ** 2 + 1e-9)
        return out


torch.manual_seed(0)
inp, moe, head = nn.Linear(8, 12), SparseMoE(), nn.Linear(12, 4)
opt = torch.optim.Adam([*inp.parameters(), *moe.parameters(), *head.parameters()], lr=4e-3)
C = torch.randn(4, 8) * 1.5
for it in range(150):
    y = torch.randint(0, 4, (6,))
    loss = F.cross_entropy(head(moe(inp(C[y] + 0.5 * torch.randn(6, 8)))), y) + 0.01 * moe.balance
    opt.zero_grad(); loss.backward(); opt.step()
    if it % 30 == 0:
        print(it, loss.item())
