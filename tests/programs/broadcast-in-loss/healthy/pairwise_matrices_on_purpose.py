import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
score = nn.Linear(6, 1)
embed = nn.Linear(6, 4)
optimizer = torch.optim.Adam([*score.parameters(), *embed.parameters()], lr=1e-2)
for step in range(40):
    x = torch.randn(24, 6)
    relevance = x[:, 0]
    s = score(x)
    # RankNet: all pairs of scores against all pairs of relevances.
    difference = s - s.T
    wanted = (relevance[:, None] > relevance[None, :]).float()
    ranking = F.binary_cross_entropy_with_logits(difference, wanted)
    # Kernel two-sample test of the scores against a sample.
    flat, sample = s.squeeze(1), torch.randn(24)
    kernel = torch.exp(-((flat.view(-1, 1) - sample) ** 2)).mean()
    energy = (flat[:, None] - sample).abs().mean() - 0.5 * (flat[:, None] - flat).abs().mean()
    z = embed(x)
    stress = (torch.cdist(z, z) - torch.cdist(x, x)).pow(2).mean()
    loss = ranking - 0.1 * kernel + 0.1 * energy + 0.1 * stress
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
