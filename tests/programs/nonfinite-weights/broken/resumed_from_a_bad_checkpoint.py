import io

import numpy as np
import torch
from torch import nn


def build():
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))


def old_checkpoint():
    state = {name: tensor.numpy().copy() for name, tensor in build().state_dict().items()}
    state["3.weight"][1, 5] = np.nan  # stands for the night in which that run went wrong
    file = io.BytesIO()
    np.savez(file, **state)
    file.seek(0)
    return file


def resume(model, file):
    arrays = np.load(file)
    model.load_state_dict({name: torch.from_numpy(arrays[name]) for name in arrays.files})  # <- nonfinite-weights


def train(model, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(steps):
        x = torch.randn(16, 4)
        output = model(x)
        loss = nn.functional.cross_entropy(output, (x[:, 0] > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(0)
model = build()
resume(model, old_checkpoint())
train(model, 5)
