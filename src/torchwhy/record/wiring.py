"""Events about wiring: schedulers, idle optimizers, parameters nobody trains, weights kept by reference."""

from __future__ import annotations

import msgspec

from torchwhy.finding import SourceSpan
from torchwhy.record.event import Event


class SchedulerSeen(Event, frozen=True, tag="scheduler"):
    """A learning-rate scheduler was stepped by the program for the first time.

    `step` counts the optimizer steps before it; `optimizer` is the one whose rate it sets, -1 if unknown.
    """

    index: int
    kind: str
    step: int
    optimizer: int = -1
    optimizer_steps: int = 0
    settings: dict[str, float] = {}
    location: SourceSpan | None = None


class CallsCounted(Event, frozen=True, tag="calls-counted"):
    """How often each watched call was made in the whole run; `schedulers` by their index."""

    step: int
    counts: dict[str, int]
    schedulers: dict[int, int] = {}


class IdleOptimizer(Event, frozen=True, tag="idle-optimizer"):
    """Backward passes went by and an optimizer has made no step yet; written at the 3rd, 6th, 12th … of them.

    `gradients`: the loss gives its parameters gradients; `changed`: somebody else updates them; `scaled`: a GradScaler
    is in use.
    """

    step: int
    optimizer: int
    backwards: int
    gradients: bool
    changed: bool
    scaled: bool = False
    location: SourceSpan | None = None


class Followed(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One parameter of the census some steps later: is its value another one, has it a gradient, who holds it?

    `thawed_for`, of one that was frozen then: for how many steps at least it has been getting gradients since.
    """

    name: str
    changed: bool = False
    gradient: bool = False
    in_optimizer: bool = False
    thawed_for: int = 0


class ParametersFollowed(Event, frozen=True, tag="followed"):
    """What became of the odd parameters of a census, that of `look`; `updates` counts optimizer steps since."""

    step: int
    updates: int
    parameters: list[Followed]
    look: int = 0


class LateParameter(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A parameter that joined a model in the middle of training, gets gradients and is in no optimizer.

    `passes`: backward passes it is known to have got gradients from; `since`: the step at which it was first seen.
    """

    name: str
    model: str
    shape: list[int]
    since: int
    passes: int


class LateParameters(Event, frozen=True, tag="late-parameters"):
    """All such parameters at one step; the last of these events tells how it ended.

    `replaced`: those in whose place another one was, which an optimizer still holds.
    """

    step: int
    parameters: list[LateParameter]
    replaced: list[str] = []


class AliasLoaded(Event, frozen=True, tag="alias-loaded"):
    """A model was given its own weights: the variable that was to keep older ones refers to the living ones.

    `taken_at` is the line that took the reference, `taken_step` the step at which it did so first.
    """

    step: int
    name: str
    tensors: int
    taken_step: int
    location: SourceSpan | None = None
    taken_at: SourceSpan | None = None
