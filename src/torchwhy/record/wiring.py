"""Events about wiring: schedulers, idle optimizers, untrained parameters, kept weights, saved and loaded files."""

from __future__ import annotations

from typing import Literal

import msgspec

from torchwhy.finding import SourceSpan
from torchwhy.record.event import Event


class SchedulerSeen(Event, frozen=True, tag="scheduler"):
    """The program stepped a learning-rate scheduler for the first time.

    `step` counts the optimizer steps before; `optimizer` is the one whose learning rate it sets, -1 if unknown.
    `position` is how many steps the scheduler itself counts, -1 if unknown.
    """

    index: int
    kind: str
    step: int
    optimizer: int = -1
    optimizer_steps: int = 0
    settings: dict[str, float] = {}
    position: int = -1
    location: SourceSpan | None = None


class PlateauMetrics(Event, frozen=True, tag="plateau-metrics"):
    """The numbers that the program gave a `ReduceLROnPlateau`, and the optimizer steps before each.

    `metric` is the expression that it passes, `mode` the direction in which the scheduler takes it for an improvement.
    """

    index: int
    mode: str
    metric: str
    steps: list[int]
    values: list[float]


class CallsCounted(Event, frozen=True, tag="calls-counted"):
    """The number of each watched call in the whole run; `schedulers` counts by their index."""

    step: int
    counts: dict[str, int]
    schedulers: dict[int, int] = {}


class IdleOptimizer(Event, frozen=True, tag="idle-optimizer"):
    """An optimizer has made no step after several backward passes; written at the 3rd, 6th, 12th … of them.

    `gradients` means that its parameters get gradients, `changed` that other code updates them, `scaled` that the
    program uses a GradScaler.
    """

    step: int
    optimizer: int
    backwards: int
    gradients: bool
    changed: bool
    scaled: bool = False
    location: SourceSpan | None = None


class Followed(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One parameter of the census some steps later: whether it changed, has a gradient, is in an optimizer.

    `thawed_for`, for one that was frozen then, is the number of steps for which it has had gradients, at least.
    """

    name: str
    changed: bool = False
    gradient: bool = False
    in_optimizer: bool = False
    thawed_for: int = 0


class ParametersFollowed(Event, frozen=True, tag="followed"):
    """The watched parameters of a census some steps later; `updates` counts the optimizer steps since."""

    step: int
    updates: int
    parameters: list[Followed]
    look: int = 0


class LateParameter(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A parameter that joined a model during training, gets gradients and is in no optimizer.

    `passes` counts the backward passes that gave it gradients, `since` is the step at which it was first seen.
    """

    name: str
    model: str
    shape: list[int]
    since: int
    passes: int


class LateParameters(Event, frozen=True, tag="late-parameters"):
    """All such parameters at one step; the last of these events shows the end of the run.

    `replaced` names those that took the place of a parameter that an optimizer still holds.
    """

    step: int
    parameters: list[LateParameter]
    replaced: list[str] = []


class KeptLoaded(Event, frozen=True, tag="kept-loaded"):
    """A model loads weights that the program took from it before; `taken_step` is when it last did so."""

    step: int
    taken_step: int
    location: SourceSpan | None = None
    taken_at: SourceSpan | None = None


class LookedAt(Event, frozen=True, tag="looked-at"):
    """How many things a probe judged that writes an event only for a wrong one; written when the program ends."""

    what: Literal["average", "loaded weights"]
    times: int


class AliasLoaded(Event, frozen=True, tag="alias-loaded"):
    """A model loaded its own weights: the variable that should keep older ones refers to the live ones.

    `taken_at` is the line that took the reference, `taken_step` the step at which it first did.
    """

    step: int
    name: str
    tensors: int
    taken_step: int
    location: SourceSpan | None = None
    taken_at: SourceSpan | None = None


class DroppedResult(Event, frozen=True, tag="dropped-result"):
    """A call or operator in an observed step computed a tensor, and the next instruction threw it away.

    `operations` are what it ran, none of which wrote memory that others see. `operand` is what it was computed from: a
    value that the loss depends on, a gradient, a part of the batch that the loss depends on, or only parameters.
    `module` is the path of the layer that ran. `shape` is that of the result, `given` that of the operand.
    """

    step: int
    operations: list[str]
    operand: Literal["value", "gradient", "batch", "parameter"]
    location: SourceSpan
    issuer: str = "user"
    module: str | None = None
    shape: list[int] = []
    given: list[int] = []
    look: int = 0


class FileSaved(Event, frozen=True, tag="file-saved"):
    """The program saved a file with torch or safetensors; `step` counts the optimizer steps before."""

    step: int
    path: str
    location: SourceSpan | None = None


class FileLoaded(Event, frozen=True, tag="file-loaded"):
    """The program loaded a file; `only_tensors` means that it holds no counter and no settings beside tensors."""

    step: int
    path: str
    only_tensors: bool = False
    location: SourceSpan | None = None


class StateBeforeStep(Event, frozen=True, tag="state-before-step"):
    """What an optimizer's step begins with: one digest per parameter and per state of a parameter.

    A parameter without state has the digest "". `random` is a digest of all random generators.
    """

    step: int
    optimizer: int
    weights: list[str]
    states: list[str]
    rates: list[float]
    random: str
