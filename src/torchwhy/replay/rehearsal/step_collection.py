"""The captured steps of a rehearsal: grouped by their path, thinned to a few dozen, bounded in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any

import torch

from torchwhy.observe.torch_features.tensor_parts import precise
from torchwhy.plain_data import dataclass
from torchwhy.replay.rehearsal.allowance import Allowance, CannotAsk
from torchwhy.replay.rehearsal.capture.batch_reads import BatchReads
from torchwhy.replay.rehearsal.capture.captured_program import CapturedStep, same
from torchwhy.replay.rehearsal.capture.given_arguments import GivenArguments
from torchwhy.replay.rehearsal.capture.lost_values import LostValues
from torchwhy.replay.rehearsal.capture.operation_log import ParameterTable
from torchwhy.replay.rehearsal.data_code.met_rows import MetRows
from torchwhy.replay.rehearsal.data_code.row_pools import RowPools

FIRST_STEPS = 24  # of one group, which all stay: within the first epoch no sample comes twice
MOST_STEPS = 32  # of one group; then every second one of the later ones goes
MOST_GROUPS = 64
MOST_BYTES = 256 * 2**20
MOST_BYTES_OF_WEIGHTS = 64 * 2**20
GRADIENT_TOLERANCE = 1e-3  # of the largest gradient: float32 sums in another order differ by 1e-6


@dataclass(eq=False)
class StepGroup:
    """Steps of one path: the same functions on the same parameters, so of one loss. Oldest first."""

    path: Any
    steps: list[CapturedStep] = field(default_factory=list)
    seen: int = 0
    every: int = 1
    gradients_agree: bool | None = None  # with the recorded ones; None: not compared

    @property
    def wants_next(self) -> bool:
        """Tell whether the next step of this path is kept."""
        return self.seen < FIRST_STEPS or (self.seen - FIRST_STEPS) % self.every == 0

    def thin(self) -> None:
        """Drop every second step but the first one."""
        self.steps[:] = self.steps[::2]
        self.every *= 2

    def alike(self) -> list[CapturedStep]:
        """Return the steps whose slots have the shapes that most have: their data can be exchanged."""
        shapes = Counter(step.shapes for step in self.steps)
        usual = shapes.most_common(1)[0][0]
        return [step for step in self.steps if step.shapes == usual]


class StepCollection:
    """Takes captured steps while the program runs."""

    def __init__(self) -> None:
        self.groups: dict[Any, StepGroup] = {}
        self.refused: Counter[str] = Counter()
        self.refused_groups = 0

    def group_of(self, step: CapturedStep) -> StepGroup | None:
        """Return the group of a step, None if there are too many."""
        group = self.groups.get(step.path)
        if group is None and len(self.groups) < MOST_GROUPS:
            group = self.groups[step.path] = StepGroup(step.path)
        return group

    def keep(self, group: StepGroup, step: CapturedStep) -> None:
        """Keep a step, and thin the group if there are many."""
        group.steps.append(step)
        if len(group.steps) > MOST_STEPS:
            group.steps[FIRST_STEPS:] = group.steps[FIRST_STEPS::2]
            group.every *= 2
        while self.bytes > MOST_BYTES and self._thin():
            pass

    @property
    def bytes(self) -> int:
        """Return what all copies take; copies that steps share count once."""
        held: dict[int, int] = {}
        for group in self.groups.values():
            for step in group.steps:
                tensors = [slot.tensor for slot in step.slots]
                for kept in (step.weights, step.changes, step.gradients):
                    tensors += kept.values() if kept else ()
                held.update((id(one), one.numel() * one.element_size()) for one in tensors)
        return sum(held.values())

    def weights_fit(self, step: CapturedStep, parameters: ParameterTable) -> bool:
        """Tell whether there is room for another copy of the parameters of a step."""
        size = sum(
            parameters.tensors[n].numel() * parameters.tensors[n].element_size()
            for n in step.parameters
        )
        copied = sum(one.weights is not None for g in self.groups.values() for one in g.steps)
        return size * (copied + 1) * 2 <= MOST_BYTES_OF_WEIGHTS

    def _thin(self) -> bool:
        """Drop copies of weights first, then steps; tell whether anything was left to drop."""
        for group in self.groups.values():
            for place, step in enumerate(group.steps[1:], start=1):
                if step.weights is not None:
                    group.steps[place] = replace(step, weights=None, changes=None, gradients=None)
                    return True
        longest = max(self.groups.values(), key=lambda group: len(group.steps))
        if len(longest.steps) < 3:
            return False
        longest.thin()
        return True


class CapturedSteps:
    """What questions are asked of: groups of captured steps, parameters, optimizers, the time that is left."""

    def __init__(
        self,
        groups: Sequence[StepGroup],
        parameters: ParameterTable,
        *,
        optimizers: Sequence[Any],
        allowance: Allowance,
        refused: Counter[str] | None = None,
        pools: RowPools | None = None,
        reads: BatchReads | None = None,
        arguments: GivenArguments | None = None,
        rows: MetRows | None = None,
        lost: LostValues | None = None,
    ) -> None:
        self.lost = lost or LostValues()
        self.rows = rows or MetRows()
        self.reads = reads
        self.arguments = arguments or GivenArguments()
        self.pools = pools or RowPools()
        self.groups = sorted(groups, key=lambda group: -group.seen)
        self.parameters = parameters
        self.optimizers = list(optimizers)
        self.allowance = allowance
        self.refused = refused or Counter()
        for group in self.groups:
            find_constants(group)

    @property
    def main(self) -> StepGroup:
        """Return the group with most steps; raises CannotAsk if no step was captured."""
        if self.groups:
            return self.groups[0]
        if not self.refused:
            raise CannotAsk("no backward pass was seen")
        reason, times = self.refused.most_common(1)[0]
        raise CannotAsk(f"no training step could be captured: {reason} ({times} times)")

    @property
    def only(self) -> StepGroup:
        """Return the main group if its optimizer works alone; raises CannotAsk for a game of several.

        Optimizers that train one after another, as those of a teacher and of its student, play no game.
        """
        main = self.main
        every = [step for group in self.groups for step in group.steps]
        own = {step.optimizer for step in main.steps}
        numbers = [step.number for step in every if step.optimizer in own]
        others = [step.number for step in every if step.optimizer not in own]
        if len(own) > 1 or any(min(numbers) < one < max(numbers) for one in others):
            raise CannotAsk("several optimizers minimise losses of their own")
        return main

    def trainable(self, group: StepGroup) -> frozenset[int]:
        """Return the parameters that training of copies may change; raises CannotAsk if gradients cannot be trusted."""
        if group.gradients_agree is None:
            group.gradients_agree = _gradients_agree(group.steps[0])
        if not group.gradients_agree:
            raise CannotAsk(
                "the captured step gives other gradients than the program (hooks, custom functions)"
            )
        own = self.optimizer_of(group)
        if own is not None and any(one.get("maximize") for one in own.param_groups):
            raise CannotAsk("the optimizer maximises its objective")
        owned = group.steps[0].owned
        if not owned:
            raise CannotAsk("no captured step was followed by an update")
        return owned

    def initial_weights(self, group: StepGroup) -> dict[int, torch.Tensor]:
        """Return copies of the parameters as they were before the first captured step."""
        weights = group.steps[0].weights
        if weights is None:
            raise CannotAsk("the parameters are too large to be copied")
        return {number: tensor.clone() for number, tensor in weights.items()}

    def optimizer_of(self, group: StepGroup) -> Any:
        """Return the program's optimizer that makes the steps of a group, None if it has none."""
        index = group.steps[0].optimizer
        watched = [one for one in self.optimizers if one.index == index]
        return watched[0].optimizer if watched else None


def find_constants(group: StepGroup) -> None:
    """Give slots that are the same in all steps of a group their role."""
    steps = group.steps
    if len(steps) < 2:
        return
    for number in range(len(steps[0].slots)):
        tensors = [step.slots[number].tensor for step in steps]
        if not all(one is tensors[0] or same([one], tensors[:1]) for one in tensors[1:]):
            continue
        for place, step in enumerate(steps):
            slots = list(step.slots)
            if slots[number].role != "buffer":
                use = slots[number].use
                slots[number] = replace(slots[number], role="constant", constant_use=use)
            steps[place] = replace(step, slots=tuple(slots))


def _gradients_agree(step: CapturedStep) -> bool:
    if step.weights is None or step.gradients is None:
        return False
    copies = {n: w.clone().requires_grad_(n in step.gradients) for n, w in step.weights.items()}
    asked = [n for n in step.gradients if n in copies and copies[n].is_floating_point()]
    loss, _ = step.run(copies)
    if not loss.requires_grad or not asked:
        return False
    found = torch.autograd.grad(loss, [copies[n] for n in asked], allow_unused=True)
    if any(gradient is not None and gradient.is_sparse for gradient in found):
        raise CannotAsk("the gradients are sparse")
    for number, gradient in zip(asked, found, strict=True):
        recorded = precise(step.gradients[number])
        given = torch.zeros_like(recorded) if gradient is None else precise(gradient)
        size = float(recorded.abs().max()) if recorded.numel() else 0.0
        if (
            recorded.numel()
            and not float((given - recorded).abs().max()) <= GRADIENT_TOLERANCE * size
        ):
            return False
    return True
