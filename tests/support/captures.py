"""Capture the steps of a training loop that runs inside of a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import torch

from torchwhy.observe.descriptors import NotedEngine
from torchwhy.observe.hooks import Hooks
from torchwhy.observe.probes.batches import BatchKeeper
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.autograd_nodes import OPTIONS, ROOTS, replace_engine
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.replay.rehearsal.allowance import Allowance
from torchwhy.replay.rehearsal.rehearsal import Rehearsal
from torchwhy.replay.rehearsal.step_collection import CapturedSteps

MakeLoss = Callable[[], torch.Tensor]


def _raise(problem: BaseException) -> None:
    raise problem


@contextmanager
def capturing(optimizer: torch.optim.Optimizer | None = None) -> Iterator[Rehearsal]:
    """Capture every step of the loop inside; `backward` is noticed by itself."""
    held = [] if optimizer is None else [p for g in optimizer.param_groups for p in g["params"]]
    watched = SimpleNamespace(index=0, optimizer=optimizer, parameters=lambda: held)
    optimizers: Any = SimpleNamespace(any_made=optimizer is not None, all=lambda: [watched])
    recorder: Any = SimpleNamespace(write=lambda _: None)
    rehearsal = Rehearsal(
        optimizers,
        recorder,
        TrainingState(),
        batches=BatchKeeper(),
        seconds=60.0,
        failed=_raise,
    )
    hooks = Hooks()
    before = unseen(rehearsal.before_backward)

    def note(variables: Any) -> None:
        if variables[OPTIONS]["accumulate_grad"]:
            before(list(variables[ROOTS]))

    replace_engine(hooks.replace, lambda engine: NotedEngine(engine, note))
    rehearsal.begin(hooks.replace)
    if optimizer is not None:
        check: Any = SimpleNamespace(watched=watched)
        state = rehearsal.mode._state

        def begin(*_: Any) -> None:
            unseen(rehearsal.before_update)()
            state.in_update = True

        def end(*_: Any) -> None:
            state.in_update = False
            unseen(rehearsal.after_update)(check)

        hooks.add(optimizer.register_step_pre_hook(begin).remove)
        hooks.add(optimizer.register_step_post_hook(end).remove)
    try:
        yield rehearsal
    finally:
        rehearsal.leave()
        hooks.remove_all()


def captured(
    make: Callable[[], tuple[list[torch.Tensor], MakeLoss]], *, steps: int = 6
) -> CapturedSteps:
    """Train what `make` returns, parameters and a loss, with SGD for some steps, and return what was captured."""
    torch.manual_seed(0)
    parameters, loss_of = make()
    optimizer = torch.optim.SGD(parameters, lr=0.01, momentum=0.9)
    with capturing(optimizer) as rehearsal:
        for _ in range(steps):
            loss = loss_of()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return steps_of(rehearsal)


def steps_of(rehearsal: Rehearsal) -> CapturedSteps:
    """Return what questions are asked of."""
    return CapturedSteps(
        [group for group in rehearsal.collection.groups.values() if group.steps],
        rehearsal.parameters,
        optimizers=[],
        allowance=Allowance(60.0),
        refused=rehearsal.collection.refused,
    )
