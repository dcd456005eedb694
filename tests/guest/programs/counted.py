"""Counts what the first step and one at cruising speed consist of: our Python calls, operations, reads and writes."""

import json
import importlib.util
import os
import statistics
import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.data import DataLoader, TensorDataset

STEPS = 40

torch.manual_seed(0)
inputs = torch.randn(6400, 10)
loader = DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=32)
layers = [nn.Linear(10, 32)] + [layer for _ in range(8) for layer in (nn.ReLU(), nn.Linear(32, 32))]
model = nn.Sequential(*layers, nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=8.0) if "scaled" in sys.argv else None
batches = iter(loader)


def train(steps):
    for _ in range(steps):
        x, y = next(batches)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()


calls = [0]
writes = written = 0
write = os.write


OURS = importlib.util.find_spec("torchwhy")
FOLDER = os.path.dirname(OURS.origin) + os.sep if OURS is not None else os.devnull


def count_call(frame, event, _):
    calls[-1] += event == "call" and frame.f_code.co_filename.startswith(FOLDER)


def count_write(descriptor, content):
    global writes, written
    writes += 1
    written += len(content)
    return write(descriptor, content)


sys.setprofile(count_call)
train(1)
sys.setprofile(None)
first_calls = calls.pop()
train(54)
os.write = count_write
train(STEPS)  # 55 to 94: no step among them is due for a sample, and the ring is flushed once
os.write = write
for _ in range(STEPS):
    calls.append(0)
    sys.setprofile(count_call)
    train(1)
    sys.setprofile(None)
with profile(activities=[ProfilerActivity.CPU]) as seen:
    train(STEPS)
operations = {event.key: event.count / STEPS for event in seen.key_averages()}
print(
    json.dumps(
        {
            "calls": statistics.median(calls[1:]),  # now and then a step is looked at thoroughly
            "first_calls": first_calls,
            "writes": writes / STEPS,
            "bytes": written / STEPS,
            "operations": sum(n for name, n in operations.items() if name.startswith("aten::")),
            "reads": operations.get("aten::_local_scalar_dense", 0.0),
        }
    )
)
