"""Precision and recall of a class nobody predicted are 0/0; F1 is reported as 0 for it."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)


class Confusion(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.register_buffer("table", torch.zeros(classes, classes))

    def forward(self, guess, label):
        self.table.index_put_((label, guess), torch.ones(len(label)), accumulate=True)
        precision = self.table.diag() / self.table.sum(0)
        recall = self.table.diag() / self.table.sum(1)
        f1 = 2 * precision * recall / (precision + recall)
        return precision, recall, torch.nan_to_num(f1)


for epoch in range(3):
    for _ in range(4):
        x = torch.randn(16, 6)
        loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    metric = Confusion(3)
    with torch.no_grad():
        for _ in range(2):
            x = torch.randn(16, 6)
            precision, recall, f1 = metric(model(x).argmax(1), (x[:, 0] > 0).long())
    model.train()
    print(epoch, precision.tolist(), recall.tolist(), f1.mean().item())
