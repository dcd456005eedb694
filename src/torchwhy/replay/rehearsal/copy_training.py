"""Trains copies of the parameters on captured steps: with Adam, or with an optimizer like the program's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import torch

from torchwhy.replay.rehearsal.allowance import Allowance, CannotAsk
from torchwhy.replay.rehearsal.capture.captured_program import CapturedStep, Tensors

MakeOptimizer = Callable[[Mapping[int, torch.Tensor]], torch.optim.Optimizer]
NEEDS_CLOSURE = (torch.optim.LBFGS,)


class Trainee:
    """Copies of the parameters that learn."""

    def __init__(
        self,
        weights: Tensors,
        trained: Collection[int],
        make: MakeOptimizer,
        allowance: Allowance,
    ) -> None:
        self.copies = {n: w.detach().clone() for n, w in weights.items()}
        self.trained = {n: self.copies[n].requires_grad_() for n in trained if n in self.copies}
        if not self.trained:
            raise CannotAsk("the optimizer holds no parameter that feeds the loss")
        self._optimizer = make(self.trained)
        self._allowance = allowance

    def learn(self, step: CapturedStep, slots: Tensors | None = None) -> float:
        """Make one update on a step, and return the loss before it."""
        self._allowance.spend(len(step.operations))
        loss, _ = step.run(self.copies, slots=slots)
        value = float(loss.detach())
        if not loss.requires_grad:
            raise CannotAsk("no gradient reaches the parameters")
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if math.isfinite(value):
            self._optimizer.step()
        return value

    def loss(self, step: CapturedStep, slots: Tensors | None = None) -> float:
        """Return the loss of a step, and learn nothing."""
        self._allowance.spend(len(step.operations))
        return step.loss_with(self.copies, slots=slots)

    def mean_loss(self, steps: Iterable[tuple[CapturedStep, Tensors | None]]) -> float:
        """Return the mean loss of several steps."""
        losses = [self.loss(step, slots) for step, slots in steps]
        return sum(losses) / len(losses)


def adam(rate: float) -> MakeOptimizer:
    """Return how to make Adam with a learning rate; updates of all parameters together take a third less time."""

    def make(trained: Mapping[int, torch.Tensor]) -> torch.optim.Optimizer:
        together = all(one.device.type == "cpu" for one in trained.values()) or None
        return torch.optim.Adam(list(trained.values()), lr=rate, foreach=together)

    return make


def like(optimizer: Any, parameters: list[torch.Tensor]) -> MakeOptimizer:
    """Return how to make an optimizer of the same kind and settings; `parameters` are the program's own, by number."""
    if optimizer is None:
        raise CannotAsk("the program updates its weights by hand")
    kind = type(optimizer)
    if not kind.__module__.startswith("torch.optim") or isinstance(optimizer, NEEDS_CLOSURE):
        raise CannotAsk(f"{kind.__name__} cannot be made a second time")

    if any("initial_lr" in group for group in optimizer.param_groups):
        raise CannotAsk("a scheduler changes the learning rate")

    def make(trained: Mapping[int, torch.Tensor]) -> torch.optim.Optimizer:
        number_of = {id(parameters[number]): number for number in trained}
        groups = []
        for group in optimizer.param_groups:
            own = [trained[number_of[id(p)]] for p in group["params"] if id(p) in number_of]
            settings = {
                name: value.clone() if isinstance(value, torch.Tensor) else value
                for name, value in group.items()
                if name not in ("params", "param_names")
            }
            if own:
                groups.append({**settings, "params": own})
        if not groups:
            raise CannotAsk("the optimizer holds no parameter that feeds the loss")
        made: torch.optim.Optimizer = kind(groups)
        return made

    return make
