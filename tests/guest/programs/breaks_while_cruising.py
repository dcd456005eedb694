"""Breaks what runs at every step of the cruise, one part after the other, where torchwhy is there at all."""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import witness

PARTS = {
    "torchwhy.observe.steps.gradients": ("Reading", "total"),
    "torchwhy.record.step_log": ("StepLog", "add"),
    "torchwhy.observe.probes.forwards.modes": ("ModeCounter", "backward_ran"),
    "torchwhy.replay.observing.quiet_steps": ("QuietSteps", "is_quiet"),
    "torchwhy.replay.triggers.step_triggers": ("Triggers", "take"),
}
part = sys.argv[1]
witness.seed()
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loader = DataLoader(TensorDataset(torch.randn(800, 4)), batch_size=4, shuffle=True)
for step, (x,) in enumerate(loader):
    if step == 40 and part in sys.modules:
        name, method = PARTS[part]

        def broken(*_args, **_kwargs):
            raise RuntimeError("a fault at cruising speed")

        setattr(getattr(sys.modules[part], name), method, broken)
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    witness.swear("loss", loss)
witness.swear("model", model)
witness.testify()
