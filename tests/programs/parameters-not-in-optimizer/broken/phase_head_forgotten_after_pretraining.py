"""Masked-feature pretraining, then classification: the optimizer of phase two is made of the encoder alone."""
import torch
from torch import nn

torch.manual_seed(0)
table = torch.randn(512, 12)
table[:, 6:] = table[:, :6] @ torch.randn(6, 6) * 0.4
klass = (table[:, :6].sum(1) > 0).long() + 2 * (table[:, 0] * table[:, 3] > 0).long()


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 32), nn.GELU(), nn.Linear(32, 16))

    def forward(self, x):
        return self.body(x)


def pretrain(encoder):
    decoder = nn.Linear(16, 12)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=3e-3)
    for _ in range(60):
        rows = torch.randint(0, 512, (64,))
        x = table[rows]
        mask = (torch.rand_like(x) > 0.3).float()
        loss = ((decoder(encoder(x * mask)) - x) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("reconstruction", loss.item())


def finetune(encoder):
    head = nn.Linear(16, 4)
    opt = torch.optim.Adam(encoder.parameters(), lr=1e-3)  # <- parameters-not-in-optimizer
    for epoch in range(40):
        rows = torch.randint(0, 512, (64,))
        loss = nn.functional.cross_entropy(head(encoder(table[rows])), klass[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("classification", loss.item())


encoder = Encoder()
pretrain(encoder)
finetune(encoder)
