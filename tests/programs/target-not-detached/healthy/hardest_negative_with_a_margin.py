# Phrase grounding: the score of the right region must beat the best region of another image by a margin of its own.
import torch
from torch import nn
torch.manual_seed(0)
class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 1))
    def forward(self, phrase, regions):
        both = torch.cat([phrase[:, None].expand(-1, regions.shape[1], -1), regions], -1)
        return self.net(both).squeeze(-1)
scorer = Scorer()
opt = torch.optim.Adam(scorer.parameters(), lr=2e-3)
for step in range(100):
    phrase = torch.randn(32, 6)
    regions, other = torch.randn(32, 5, 6), torch.randn(32, 5, 6)
    right = torch.randint(0, 5, (32,))
    regions[torch.arange(32), right] = phrase + 0.1 * torch.randn(32, 6)
    margin = 0.2 + 0.3 * torch.rand(32)
    positive = scorer(phrase, regions).gather(1, right[:, None]).squeeze(1)
    hardest = scorer(phrase, other).max(dim=1).values
    loss = (hardest + margin - positive).clamp(min=0).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
