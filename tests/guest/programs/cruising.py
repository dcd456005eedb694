"""Loops long enough for the cruise: with a loader, batch norm, dropout and a scheduler; with accumulation; in a pair."""

from contextlib import nullcontext

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.data import DataLoader, TensorDataset

import witness

witness.seed()
inputs = torch.randn(600, 8)
data = TensorDataset(inputs, inputs.sum(1, keepdim=True))
loader = DataLoader(data, batch_size=16, shuffle=True)
model = nn.Sequential(
    nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1)
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 120)
losses = []
for epoch in range(3):
    model.train()
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        losses.append(sum(nn.functional.mse_loss(model(x), y).item() for x, y in loader))
witness.swear("losses", losses)
witness.swear("model", model)
witness.swear("optimizer", optimizer)

words = nn.Embedding(50, 8, sparse=True)
head = nn.Linear(8, 1)
first = torch.optim.SparseAdam(words.parameters(), lr=1e-2)
second = torch.optim.SGD(head.parameters(), lr=1e-2, momentum=0.9)
for step in range(60):
    for part in range(3):
        loss = head(words(torch.randint(0, 50, (4, 5))).mean(1)).square().mean() / 3
        loss.backward()
    for one in (first, second):
        one.step()
        one.zero_grad(set_to_none=step % 2 == 0)
witness.swear("words", words)
witness.swear("head", head)

maker, judge = nn.Linear(4, 8), nn.Linear(8, 1)
of_maker = torch.optim.Adam(maker.parameters(), lr=1e-3)
of_judge = torch.optim.Adam(judge.parameters(), lr=1e-3)
for _ in range(60):
    fake = maker(torch.randn(8, 4))
    of_judge.zero_grad()
    (judge(fake.detach()).mean() - judge(torch.randn(8, 8)).mean()).backward()
    of_judge.step()
    of_maker.zero_grad()
    (-judge(fake).mean()).backward()
    of_maker.step()
witness.swear("maker", maker)
witness.swear("judge", judge)

wide = nn.Linear(300, 200)
versions = []
plain = torch.optim.SGD(wide.parameters(), lr=1e-3)
for _ in range(40):
    plain.zero_grad(set_to_none=False)
    wide(torch.randn(4, 300)).square().mean().backward(create_graph=True)
    penalty = sum(p.grad.square().sum() for p in wide.parameters())
    plain.step()
    penalty.backward()
    versions.append([p.grad._version for p in wide.parameters()])
witness.swear("versions", versions)
witness.swear("wide", wide)


class Functions(TorchFunctionMode):
    """Counts what is asked of torch: nothing of what torchwhy asks may be among it."""

    names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


class Operations(TorchDispatchMode):
    """The same for what comes out of torch below."""

    names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


thin = nn.Linear(4, 1)
sgd = torch.optim.SGD(thin.parameters(), lr=1e-2)
pairs = DataLoader(TensorDataset(torch.randn(400, 4)), batch_size=4)
for number, (x,) in enumerate(pairs):
    with Functions() if number % 3 == 1 else Operations() if number % 3 == 2 else nullcontext():
        sgd.zero_grad()
        loss = thin(x).square().mean()
        loss.backward()
        sgd.step()
        loss.item()
witness.swear("functions", Functions.names)
witness.swear("operations", Operations.names)
witness.swear("thin", thin)
witness.testify()
