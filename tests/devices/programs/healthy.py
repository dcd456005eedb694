"""Trains on the toy device with dropout, momentum and a loader, and prints a loss now and then."""

import sys

import torch
import toy_device  # noqa: F401 - registers the device
import witness
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 60

torch.manual_seed(0)
inputs = torch.randn(64, 8)
targets = (inputs[:, 0] + inputs[:, 1] > 0).long()
loader = DataLoader(TensorDataset(inputs, targets), batch_size=16, shuffle=True)
model = nn.Sequential(
    nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 2)
)
model.to("toy")
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
loss_function = nn.CrossEntropyLoss()

step, waits = 0, []
while step < STEPS:
    for features, labels in loader:
        features, labels = features.to("toy"), labels.to("toy")
        optimizer.zero_grad()
        loss = loss_function(model(features), labels)
        loss.backward()
        optimizer.step()
        step += 1
        waits.append(torch.toy.waits())
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.4f}")

witness.testify(waits, model, optimizer)
