"""Prints what is still alive at points where the program has let go of it."""

import weakref

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
import witness


class Rows(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        return torch.full((8,), float(index))


def alive(references):
    return "".join(".X"[reference() is not None] for reference in references)


def prepare():
    raw = torch.randn(64, 128)
    scaled = raw * 2.0
    masked = torch.where(scaled > 0, scaled, torch.zeros_like(scaled))
    half = masked.half().relu()
    copied = scaled.clone().mul_(3).masked_fill_(scaled > 1, 0.0)
    references = [weakref.ref(t) for t in (raw, scaled, masked, half, copied)]
    del raw, scaled, masked, half, copied
    print("prepared", alive(references))


def evaluate(model, loader):
    references = []
    with torch.no_grad():
        for batch in loader:
            hidden = model[0](batch)
            out = model(batch) * hidden.mean()
            references += [weakref.ref(t) for t in (batch, hidden, out)]
            print("evaluating", alive(references[:-3]))
    del batch, hidden, out
    print("evaluated", alive(references[:-3]))


def step(model, optimizer, batch, references):
    hidden = model[0](batch)
    gate = (hidden > 0).float()
    out = model(batch) * gate.mean() + (hidden * gate).sum()
    loss = out.mean()
    references += [weakref.ref(t) for t in (batch, hidden, gate, out, loss)]
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def train():
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loader = DataLoader(Rows(), batch_size=8, shuffle=True)
    evaluate(model, loader)
    references = []
    for epoch in range(2):
        for batch in loader:
            step(model, optimizer, batch, references)
            print("stepped", alive(references[1:] if len(references) == 5 else references[:-5]))
        evaluate(model, loader)
    del batch
    parts = [model, optimizer, loader, *model.parameters(), *model.buffers()]
    parts += [p.grad for p in model.parameters()]
    return [weakref.ref(part) for part in parts]


def by_hand():
    weight = torch.ones(8, requires_grad=True)
    references = []
    for number in range(6):
        x = torch.randn(4, 8)
        loss = (x * weight).square().mean()
        loss.backward()
        with torch.no_grad():
            weight -= 0.1 * weight.grad
        weight.grad = None
        references += [weakref.ref(x), weakref.ref(loss)]
        del x, loss
    print("by hand", alive(references[:-2]))
    references.append(weakref.ref(weight))
    return references


witness.seed()
prepare()
print("trained", alive(train()))
again = train()
print("trained again", alive(again))
print("left", alive(by_hand()[:-3]))
witness.testify()
