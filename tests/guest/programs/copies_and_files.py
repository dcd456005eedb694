import copy
import functools
import io
import pickle
import pickletools

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
import witness

witness.seed()
model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
loader = DataLoader(TensorDataset(torch.randn(12, 4)), batch_size=4, shuffle=True)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
scaler = torch.amp.GradScaler("cpu")


def content(thing):
    """Return the names that a pickle refers to: nothing of a guest may be among them."""
    pickled = pickle.dumps(thing)
    assert b"torchwhy" not in pickled
    return sorted({str(argument) for _, argument, _ in pickletools.genops(pickled) if isinstance(argument, str)})


def train(model, optimizer):
    for (x,) in loader:
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        witness.swear("loss", loss)


for epoch in range(2):
    train(model, optimizer)
    scheduler.step()
    twin = copy.deepcopy(model)
    twin_optimizer = copy.deepcopy(optimizer)
    witness.swear("twin", twin)
    witness.swear("twin optimizer", twin_optimizer)
    for thing in (model, optimizer, loader, scaler):
        witness.swear("content", content(thing))
    for function in (torch.isnan, torch.isfinite, torch.compile):
        content(functools.partial(function))
        assert pickle.loads(pickle.dumps(function)) is not None
    again, again_optimizer = pickle.loads(pickle.dumps((model, optimizer)))
    train(again, again_optimizer)
    buffer = io.BytesIO()
    torch.save({"model": model, "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}, buffer)
    assert b"torchwhy" not in buffer.getvalue()
    buffer.seek(0)
    loaded = torch.load(buffer, weights_only=False)
    fresh = torch.optim.Adam(loaded["model"].parameters(), lr=0.5)
    fresh.load_state_dict(loaded["optimizer"])
    train(loaded["model"], fresh)
    witness.swear("loaded", loaded["model"])
    witness.swear("fresh", fresh)
witness.swear("model", model)
witness.testify()
