"""Supervised contrastive loss as a module; a class with one sample in the batch has no positives."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class SupConLoss(nn.Module):
    def __init__(self, temperature=0.2):
        super().__init__()
        self.temperature = temperature

    def forward(self, features, labels):
        sim = features @ features.T / self.temperature
        eye = torch.eye(len(labels), dtype=torch.bool)
        sim = sim - sim.detach().max(dim=1, keepdim=True).values
        positives = (labels[:, None] == labels[None, :]) & ~eye
        denom = (sim.exp() * ~eye).sum(1, keepdim=True)
        log_prob = sim - denom.log()
        per_anchor = (log_prob * positives).sum(1) / positives.sum(1)  # <- empty-reduction
        return -per_anchor.mean()


class Encoder(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(in_dim, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, out_dim))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


class MemoryBank:
    def __init__(self, n_classes=20, dim=12, n=400):
        g = torch.Generator().manual_seed(2)
        centres = torch.randn(n_classes, dim, generator=g)
        self.y = torch.randint(0, n_classes, (n,), generator=g)
        self.x = centres[self.y] + 0.3 * torch.randn(n, dim, generator=g)

    def batches(self, size):
        perm = torch.randperm(len(self.y))
        for chunk in perm.split(size):
            yield self.x[chunk], self.y[chunk]


def fit(encoder, criterion, data, epochs):
    opt = torch.optim.SGD(encoder.parameters(), lr=0.05, momentum=0.9)
    for e in range(epochs):
        losses = []
        for x, y in data.batches(100):
            loss = criterion(encoder(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        print(f"{e:3d} {sum(losses) / len(losses):.4f}")


if __name__ == "__main__":
    torch.manual_seed(1)
    fit(Encoder(12, 16), SupConLoss(), MemoryBank(), epochs=12)
