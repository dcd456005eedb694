"""Starts and ends the watch itself, and tells which functions of torch are not what they were."""

import json
import sys
from pathlib import Path

import torch
import torch.utils.data
from torch import nn


def everything():
    """Return every attribute of torch's modules and classes, by identity, with warnings' and sys's own."""
    found = {}
    holders = [(n, m) for n, m in list(sys.modules.items()) if m is not None and n.split(".")[0] in ("torch", "warnings", "sys")]
    for name, module in holders:
        for key, value in list(getattr(module, "__dict__", {}).items()):
            if callable(value):
                found[f"{name}.{key}"] = value
            if isinstance(value, type) and value.__module__.startswith("torch"):
                for attribute, thing in list(vars(value).items()):
                    if not attribute.startswith("__abstract") and not isinstance(thing, int):
                        found[f"{value.__module__}.{value.__qualname__}.{attribute}"] = thing
    found["modes"] = torch._C._len_torch_dispatch_stack()
    module = sys.modules["torch.nn.modules.module"]
    hooks = sys.modules["torch.optim.optimizer"]
    for table in (
        module._global_forward_hooks, module._global_forward_pre_hooks, module._global_forward_hooks_always_called,
        hooks._global_optimizer_pre_hooks, hooks._global_optimizer_post_hooks,
    ):
        found[f"hooks {id(table)}"] = len(table)
    return found


def train():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    optimizer = torch.optim.Adam(model.parameters())
    for batch in torch.utils.data.DataLoader(torch.randn(12, 4), batch_size=4):
        loss = model(batch).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
    return model


from torchwhy.observe.boot import wire  # noqa: E402

train()
torch.jit._builtins._get_builtin_table()
Path("inside").mkdir()
run = {"schema": 1, "command": ["x"], "directory": ".", "options": {"on_failure": "stop"}, "rerun": None}
Path("inside/run.json").write_text(json.dumps(run))
before = everything()
session = wire.begin(str(Path("inside").absolute()))
during = everything()
train()
session.end()
after = everything()
changed = sorted(name for name in during if name in before and during[name] is not before[name])
print(len(changed) > 10, len(Path("inside/rank0.jsonl").read_text()) > 100)
print([name for name in before if name in after and after[name] is not before[name]])
print([name for name in before if name not in after])
known = {name.rpartition(".")[0] for name in before}
print([n for n in after if n not in before and n.rpartition(".")[0] in known and "torchwhy" in str(getattr(after[n], "__module__", ""))])
session.end()
train()
