# Coreference: every mention points to its antecedent, or to itself if it has none.
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 16))
opt = torch.optim.Adam(enc.parameters(), lr=3e-3)
protos = torch.randn(6, 8) * 2
for step in range(80):
    entity = torch.randint(0, 6, (24,))
    mentions = protos[entity] + 0.2 * torch.randn(24, 8)
    first = (entity[:, None] == entity[None]).int().argmax(1)  # first mention of the entity; itself for the first
    z = F.normalize(enc(mentions), dim=1)
    scores = z @ z.t() / 0.2
    loss = F.cross_entropy(scores, first)
    opt.zero_grad()
    loss.backward()
    opt.step()
