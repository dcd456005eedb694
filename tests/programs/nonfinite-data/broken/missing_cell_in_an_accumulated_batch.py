import csv
import io
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

random.seed(0)
torch.manual_seed(0)


def fake_csv(n):
    buf = io.StringIO()
    w = csv.writer(buf)
    w.writerow(["a", "b", "c", "target"])
    for i in range(n):
        a, b, c = (random.gauss(0, 1) for _ in range(3))
        w.writerow([a, b, "" if i == 77 else c, a - b])
    return buf.getvalue()


class Csv(Dataset):
    def __init__(self, text):
        self.rows = list(csv.DictReader(io.StringIO(text)))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        values = [float(row[k]) if row[k] else float("nan") for k in ("a", "b", "c")]
        return torch.tensor(values), torch.tensor([float(row["target"])])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.seq = nn.Sequential(nn.Linear(3, 16), nn.Mish(), nn.Linear(16, 1))

    def forward(self, x):
        return self.seq(x)


def main(accum=4):
    net = Net()
    opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9, nesterov=True)
    loader = DataLoader(Csv(fake_csv(160)), 8)
    for epoch in range(3):
        opt.zero_grad()
        for i, (x, y) in enumerate(loader):  # <- nonfinite-data
            loss = nn.functional.huber_loss(net(x), y) / accum
            loss.backward()
            if (i + 1) % accum == 0:
                opt.step()
                opt.zero_grad()
        print(epoch, loss.item() * accum)


main()
