import csv
import io

import torch

TABLE = """age,income,score
31,2400,0.4
52,,0.7
44,3100,0.2
29,1800,0.9
"""


def number(text):
    return float(text) if text else float("nan")


def load(text):
    rows = list(csv.DictReader(io.StringIO(text)))
    return [[number(row[name]) for name in ("age", "income", "score")] for row in rows]


torch.manual_seed(0)
table = torch.tensor(load(TABLE))  # <- nonfinite-data
x, y = table[:, :2] / 1000, table[:, 2:]
model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(10):
    loss = ((model(x) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
