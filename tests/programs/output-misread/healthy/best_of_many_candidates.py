# Pairs are scored one at a time in training; in evaluation each query picks the best of 20 candidates.
import torch
from torch import nn


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, query, candidates):
        both = torch.cat([query[:, None].expand(-1, candidates.shape[1], -1), candidates], -1)
        return self.net(both).squeeze(-1)


torch.manual_seed(0)
scorer = Scorer()
optimizer = torch.optim.Adam(scorer.parameters(), lr=3e-3)
for step in range(100):
    query = torch.randn(32, 6)
    match = torch.rand(32, 1) < 0.5
    candidate = torch.where(match, query, torch.randn(32, 6))
    loss = nn.functional.binary_cross_entropy_with_logits(scorer(query, candidate[:, None]), match.float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 24:
        scorer.eval()
        query, candidates = torch.randn(50, 6), torch.randn(50, 20, 6)
        candidates[:, 7] = query
        with torch.no_grad():
            best = scorer(query, candidates).argmax(1)
        print(step, (best == 7).float().mean().item())
        scorer.train()
