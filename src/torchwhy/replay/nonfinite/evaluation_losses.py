"""Finds losses that are non-finite only in evaluation, where no optimizer step judges them.

Only numbers count that the program reads without gradients and calls a loss: the metric of an absent class is often
NaN and means nothing. A function that checks for NaN itself is left alone.
"""

from __future__ import annotations

import ast
import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from torchwhy.observe import descriptors, guest
from torchwhy.observe.probes import reads
from torchwhy.observe.probes.metrics.evaluations import WORDS, Evaluations
from torchwhy.observe.program.frames import Site, span_of, user_sites
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features import mode_stack
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import has_values, item, local_part
from torchwhy.plain_data import dataclass
from torchwhy.record.events import Alarm
from torchwhy.record.numbers import Real, encode
from torchwhy.source.bindings import targets_of
from torchwhy.source.files import loaded, scope_of
from torchwhy.source.scopes import inside

LOSS_WORDS = (*WORDS, "crit", "elbo")
# A function that calls one of these expects bad values and handles them.
EXPECTING = ("isnan", "isfinite", "isinf", "nan_to_num", "nanmean", "nansum", "nanmedian")
# Files on the way from a tensor's `item` to here; every other file of our package reads for itself.
PLUMBING = {__file__, *(module.__file__ for module in (guest, reads, descriptors, mode_stack))}
OWN_ROOT = str(Path(guest.__file__).resolve().parents[1]) + os.sep
# Methods whose result is still the same loss.
SAME = ("item", "mean", "sum", "detach", "cpu", "float", "double", "data", "squeeze", "numpy")
VARIABLE = re.compile(r"Name\(id='\w+'")
MOST_SITES = 16  # places in the source that are followed


@dataclass
class _Reading:
    """One place that reads a loss: the evaluations in a row that were bad, and the last good one before them."""

    step: int
    is_bad: bool
    value: Real
    first_bad: int
    last_good: int = 0


class WatchedEvaluations(Evaluations):
    """Follows evaluations as its base does, and keeps the bad losses for the end of the program.

    `when_bad` is called with each of them as the program reads it.
    """

    def __init__(
        self,
        recorder: Recorder,
        state: TrainingState,
        when_bad: Callable[[torch.Tensor], object] = lambda _: None,
    ) -> None:
        super().__init__(recorder, state)
        self._when_bad = when_bad
        self._readings: dict[Site, _Reading | None] = {}

    def read(self, tensor: Any) -> None:
        """Note one number that the program reads; called while gradients are off."""
        if not read_by_us(frame_at(1)):
            super().read(tensor)
            self._judge(tensor)

    def read_later(self, tensor: Any) -> None:
        """Note a number that was computed without gradients and is read while these are on again."""
        self._judge(tensor)

    def _judge(self, tensor: torch.Tensor) -> None:
        """Keep the number if it is bad, or read where a bad one was read before."""
        state = self._state
        if state.in_update or not state.step or not tensor.is_floating_point():
            return
        if tensor.numel() != 1 or not has_values(tensor):
            return
        # Both callers are protected, so no mode sees this; torch's own `item`, because the program's is watched.
        is_bad = not math.isfinite(item(tensor))
        if is_bad or self._readings:
            sites = user_sites(frame_at(1), limit=1)
            if sites and not read_by_us(frame_at(1)):
                self._note(sites[0], tensor, is_bad=is_bad)

    def alarm(self) -> Alarm | None:
        """Return the alarm about the program's last evaluation; None if it was fine."""
        for site, reading in self._readings.items():
            if reading is not None and reading.is_bad:
                return Alarm(
                    step=reading.first_bad,
                    optimizer=None,
                    what="evaluation",
                    losses=[reading.value],
                    location=span_of(site),
                    since=reading.last_good,
                )
        return None

    def _note(self, site: Site, tensor: torch.Tensor, *, is_bad: bool) -> None:
        readings, step = self._readings, self._state.step
        if site not in readings and is_bad and len(readings) < MOST_SITES:
            good = self._places.get(site)
            last = next((s for s in reversed(good.steps if good else []) if s < step), 0)
            known = _Reading(step, False, encode(0.0), step, last)
            readings[site] = known if reads_a_loss(site) else None
            self._state.bad_evaluations = True
        reading = readings.get(site)
        if reading is None:
            return
        if step != reading.step:  # a round of evaluation is over: was it a good one?
            if not reading.is_bad:
                reading.last_good = reading.step
            reading.first_bad = reading.first_bad if reading.is_bad else step
            reading.step, reading.is_bad = step, False
        if is_bad:
            reading.is_bad, reading.value = True, value_of(tensor)
            self._when_bad(tensor)


def read_by_us(frame: FrameType | None) -> bool:
    """Tell whether code of ours read the number."""
    while frame is not None and frame.f_code.co_filename in PLUMBING:
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(OWN_ROOT)


@unseen
def value_of(tensor: torch.Tensor) -> Real:
    """Return the one number of a tensor without `item`, which is watched."""
    (value,) = local_part(tensor).reshape(1).tolist()
    return encode(float(value))


def reads_a_loss(site: Site) -> bool:
    """Tell whether the program calls the number a loss, in a function that does not handle bad ones."""
    expression = span_of(site).expression or ""
    try:
        node: ast.AST = ast.parse(expression.strip(), mode="eval").body
    except SyntaxError:
        return False
    scope = scope_of(site.code)
    names = {
        part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", "")
        for part in (inside(scope) if scope is not None else ())
    }
    is_loss = is_called_loss(node) or is_computed_like_a_loss(node, site.code.co_filename)
    return is_loss and names.isdisjoint(EXPECTING)


def is_computed_like_a_loss(node: ast.AST, filename: str) -> bool:
    """Tell whether the file assigns the same formula, with other variables, to something called a loss.

    `(net(v) - w).pow(2).mean().item` is one if `loss = (net(x) - y).pow(2).mean()` is trained on.
    """
    while isinstance(node, ast.Attribute) and node.attr == "item":
        node = node.value
    source = loaded(filename)
    if source is None or not isinstance(node, ast.Call):
        return False
    formula = _without_names(node)
    return any(
        isinstance(target, ast.Name)
        and _names_loss(target.id)
        and value is not None
        and _without_names(value) == formula
        for statement in ast.walk(source.tree)
        for target, value in targets_of(statement)
    )


def _without_names(node: ast.AST) -> str:
    """Return the syntax of an expression as text, without the names of its variables."""
    return VARIABLE.sub("Name", ast.dump(node))


def is_called_loss(node: ast.AST) -> bool:
    """Tell whether an expression is a loss by name: `val_loss`, `criterion(out, y)`, `losses["a"].mean().item`.

    A function of a loss is not: its exponential may well be infinite.
    """
    if isinstance(node, ast.JoinedStr):
        shown = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
        plain = [part for part in shown if not isinstance(part, ast.Call)]
        return bool(plain) and all(map(is_called_loss, plain))
    if isinstance(node, ast.Subscript):
        return is_called_loss(node.value)
    if isinstance(node, ast.Name):
        return _names_loss(node.id)
    if isinstance(node, ast.Attribute):
        return _names_loss(node.attr) or (node.attr in SAME and is_called_loss(node.value))
    if isinstance(node, ast.Call):
        is_number = isinstance(node.func, ast.Name) and node.func.id == "float"
        return is_called_loss(node.args[0] if is_number and node.args else node.func)
    return False


def _names_loss(name: str) -> bool:
    return any(word in name.lower() for word in LOSS_WORDS)
