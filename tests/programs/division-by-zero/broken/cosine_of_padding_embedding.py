import torch
from torch import nn


class TwoTower(nn.Module):
    def __init__(self, vocabulary=50, width=12):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width, padding_idx=0)

    def encode(self, tokens):
        return self.words(tokens).sum(1)

    def forward(self, query, document):
        q, d = self.encode(query), self.encode(document)
        lengths = q.pow(2).sum(1).add(1e-12).sqrt() * d.norm(dim=1)
        return (q * d).sum(1) / lengths  # <- division-by-zero


torch.manual_seed(0)
model = TwoTower()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for step in range(25):
    query = torch.randint(1, 50, (8, 3))
    document = torch.randint(1, 50, (8, 6))
    if step == 18:
        document[5] = 0  # an empty document: padding only
    target = torch.rand(8) * 2 - 1
    similarity = model(query, document)
    loss = nn.functional.mse_loss(similarity, target)
    losses.append(loss)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
