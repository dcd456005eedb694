"""Which changes of the weights while compiled code runs count as steps of their optimizer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from torchwhy.observe.steps.compiled_steps import CompiledSteps
from torchwhy.observe.steps.training_state import TrainingState


class Program:
    """A model, its optimizer, and the steps that were counted; what it does here runs as compiled code."""

    def __init__(self, make: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]) -> None:
        self.model = nn.Linear(3, 2)
        self.optimizer = make(self.model.parameters())
        self.state = TrainingState()
        watched: Any = SimpleNamespace(
            index=0,
            steps=0,
            optimizer=self.optimizer,
            names=lambda: ["weight", "bias"],
            parameters=lambda: list(self.model.parameters()),
        )
        self.watched = watched
        optimizers: Any = SimpleNamespace(all=lambda: [watched])
        self._steps = CompiledSteps(self.state, optimizers, self._made)

    def _made(self, watched: Any, bad: list[str] | None, since: int | None) -> None:
        assert not bad
        assert since is not None
        watched.steps += 1

    def run_compiled(self, function: Callable[[], object]) -> None:
        self._steps.code_begins()
        function()
        self._steps.code_ends()

    def step(self) -> None:
        self.state.backwards += 1
        self.model(torch.randn(4, 3)).sum().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    @torch.no_grad()
    def clamp(self) -> None:
        for parameter in self.model.parameters():
            parameter.clamp_(-1, 1)


OPTIMIZERS = {
    "state": lambda parameters: torch.optim.Adam(parameters, lr=0.01),
    "no state": lambda parameters: torch.optim.SGD(parameters, lr=0.01),
}


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_a_step_in_compiled_code_is_counted(kind: str) -> None:
    program = Program(OPTIMIZERS[kind])

    for _ in range(5):
        program.run_compiled(program.step)

    assert program.watched.steps == 5


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_weights_that_compiled_code_initialises_or_clamps_are_no_step(kind: str) -> None:
    program = Program(OPTIMIZERS[kind])

    program.run_compiled(program.clamp)
    for _ in range(5):
        program.run_compiled(program.step)
        program.run_compiled(program.clamp)

    assert program.watched.steps == 5
