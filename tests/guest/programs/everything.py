"""Meets every probe once: loaders, a scaler, reads of the loss, warnings of arrays, evaluation, a compiled function."""

import numpy
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
import witness

witness.seed()
with numpy.errstate(divide="warn"):
    numpy.ones(2) / numpy.zeros(2)
x = torch.randn(32, 6)
loader = DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
scaler = torch.amp.GradScaler("cpu", init_scale=16.0)
for epoch in range(3):
    model.train()
    for features, labels in loader:
        loss = nn.functional.cross_entropy(model(features), labels)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        witness.swear("loss", loss)
        if loss.item() != loss.item() or torch.isnan(loss):
            raise SystemExit("diverged")
    scheduler.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(features).argmax(1) == labels).sum().item() for features, labels in loader)
    print(epoch, right)
model.state_dict()  # before compiled code runs
double = torch.compile(lambda t: t * 2, backend="eager")
witness.swear("doubled", double(torch.ones(2)))
witness.swear("model", model)
witness.swear("optimizer", optimizer)
witness.swear("scaler", scaler)
witness.testify()
