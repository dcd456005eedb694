"""A robust loop: any exception in the step is logged and the batch skipped; a shape bug hits every batch."""
import logging

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

log = logging.getLogger("train")
logging.basicConfig(level=logging.WARNING)


class Scorer(nn.Module):
    def __init__(self, d_user=8, d_item=12):
        super().__init__()
        self.user = nn.Linear(d_user, 16)
        self.item = nn.Linear(d_item, 16)
        self.out = nn.Linear(16, 1)  # <- linear-size-mismatch

    def forward(self, u, i):
        joint = torch.cat([self.user(u), self.item(i)], dim=1)
        return self.out(torch.relu(joint)).squeeze(1)


def train_step(model, opt, batch):
    u, i, y = batch
    loss = nn.functional.binary_cross_entropy_with_logits(model(u, i), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(160, 8), torch.randn(160, 12), (torch.rand(160) > 0.5).float())
    model = Scorer()
    opt = torch.optim.Adam(model.parameters())
    done = 0
    for epoch in range(2):
        for batch in DataLoader(data, batch_size=16):
            try:
                train_step(model, opt, batch)
                done += 1
            except Exception as e:
                log.warning("skipping batch: %s", e)
    print("finished", done, "batches")


main()
