"""CRF-like score with hand-written log-sum-exp in a helper; scores grow and exp overflows."""
import torch
from torch import nn


def lse(x, dim):
    return torch.log(torch.exp(x).sum(dim))  # <- exp-overflow


class Tagger(nn.Module):
    def __init__(self, d=8, k=4):
        super().__init__()
        self.emit = nn.Linear(d, k)
        self.trans = nn.Parameter(torch.zeros(k, k))

    def partition(self, emissions):
        alpha = emissions[:, 0]
        for t in range(1, emissions.size(1)):
            alpha = lse(alpha.unsqueeze(2) + self.trans, 1) + emissions[:, t]
        return lse(alpha, 1)

    def score(self, emissions, tags):
        s = emissions.gather(2, tags.unsqueeze(2)).squeeze(2).sum(1)
        return s + self.trans[tags[:, :-1], tags[:, 1:]].sum(1)

    def loss(self, x, tags):
        e = self.emit(x)
        return (self.partition(e) - self.score(e, tags)).mean()


def main():
    torch.manual_seed(0)
    model = Tagger()
    opt = torch.optim.Adam(model.parameters(), lr=0.05)
    for step in range(120):
        x = torch.randn(16, 60, 8)
        tags = x[..., :4].argmax(-1)
        loss = model.loss(x, tags)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0:
            print(step, loss.item())


main()
