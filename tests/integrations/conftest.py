"""Blocks run in this process, each in a folder of its own."""

from __future__ import annotations

import sys
import threading
import warnings
from importlib import import_module
from pathlib import Path

import pytest
import torch
from torch.utils import data

from torchwhy.observe import session
from torchwhy.observe.program import frames

OPTIMIZERS = import_module("torch.optim.optimizer")
MODULES = import_module("torch.nn.modules.module")
HELD = (
    torch,
    torch.Tensor,
    torch.nn.Module,
    torch.nn.functional,
    torch.optim.Optimizer,
    torch.autograd,
    torch.autograd.Variable,
    torch.amp.GradScaler,
    torch.serialization,
    data.DataLoader,
    warnings,
    threading,
)


@pytest.fixture(autouse=True)
def _in_its_own_folder(tmp_path, monkeypatch):
    start = str(Path.cwd())
    monkeypatch.chdir(tmp_path)
    yield
    assert not session.is_watched()
    frames.restart_in(start)


@pytest.fixture
def hooks_of():
    """Return what is on torch and Python now, to be compared."""

    def take():
        held = [
            {name: id(value) for name, value in vars(one).items() if name != "__annotations__"}
            for one in HELD
        ]
        counts = (
            len(OPTIMIZERS._global_optimizer_pre_hooks),
            len(OPTIMIZERS._global_optimizer_post_hooks),
            len(MODULES._global_forward_pre_hooks),
            len(MODULES._global_forward_hooks),
            torch._C._len_torch_dispatch_stack(),
        )
        return [*held, counts, sys.excepthook, sys.gettrace()]

    return take
