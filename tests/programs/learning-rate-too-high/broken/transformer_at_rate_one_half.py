"""Small transformer, Adam at lr=0.5: collapses to guessing."""
import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self, vocab=20, dim=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(torch.randn(1, 8, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(dim, 4)

    def forward(self, ids):
        return self.out(self.enc(self.emb(ids) + self.pos).mean(1))


def main():
    torch.manual_seed(0)
    model = Classifier()
    opt = torch.optim.Adam(model.parameters(), lr=0.5)  # <- learning-rate-too-high
    for step in range(80):
        ids = torch.randint(0, 20, (32, 8))
        y = (ids % 4).float().mean(1).round().long()
        loss = nn.functional.cross_entropy(model(ids), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0:
            print(step, loss.item())


main()
