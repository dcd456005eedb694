"""Counts what the first step and one at cruising speed consist of: our Python calls, operations, reads and writes."""

import json
import importlib.util
import os
import statistics
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

STEPS = 40

torch.manual_seed(0)
inputs = torch.randn(6400, 10)
loader = DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=32)
layers = [nn.Linear(10, 32)] + [layer for _ in range(8) for layer in (nn.ReLU(), nn.Linear(32, 32))]
if "buffers" in sys.argv:
    layers.insert(1, nn.BatchNorm1d(32))
model = nn.Sequential(*layers, nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=8.0) if "scaled" in sys.argv else None
judge = nn.Linear(1, 1) if "in_turn" in sys.argv else None
of_judge = torch.optim.SGD(judge.parameters(), lr=1e-3) if judge is not None else None
if judge is not None:  # as a target network brings an optimizer along that never steps
    target = nn.Linear(1, 1)
    of_target = torch.optim.SGD(target.parameters(), lr=1e-3)
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
        if judge is not None:
            with torch.no_grad():
                guess = model(x) + torch.randn(())
            of_judge.zero_grad()
            (judge(y).square().mean() + judge(guess).square().mean()).backward()
            of_judge.step()


calls, operations, reads = [0], [0], [0]
writes = written = 0
write = os.write


OURS = importlib.util.find_spec("torchwhy")
FOLDER = os.path.dirname(OURS.origin) + os.sep if OURS is not None else os.devnull


# Methods that ask a tensor for what it is, and compute nothing.
FACTS = {"dim", "numel", "size", "stride", "storage_offset", "data_ptr", "untyped_storage", "is_floating_point"}


def count_call(frame, event, function):
    """Count calls of our functions, and what these call on tensors: a profiler of torch does not see us."""
    if event not in ("call", "c_call") or not frame.f_code.co_filename.startswith(FOLDER):
        return
    if event == "call":
        calls[-1] += 1
        return
    is_method = issubclass(type(getattr(function, "__self__", None)), torch.Tensor)
    is_function = getattr(torch, function.__name__, None) is function
    if (is_method or is_function) and function.__name__ not in FACTS and not function.__name__.startswith("is_"):
        operations[-1] += 1
        reads[-1] += function.__name__ in ("item", "tolist")


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
    for count in (calls, operations, reads):
        count.append(0)
    sys.setprofile(count_call)
    train(1)
    sys.setprofile(None)
print(
    json.dumps(
        {
            "calls": statistics.median(calls[1:]),  # now and then a step is looked at thoroughly
            "first_calls": first_calls,
            "writes": writes / STEPS,
            "bytes": written / STEPS,
            "operations": statistics.median(operations[1:]),
            "reads": statistics.median(reads[1:]),
        }
    )
)
