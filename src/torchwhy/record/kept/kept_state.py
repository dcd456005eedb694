"""Events about what a program keeps: loaded states, checkpoint files, averages of weights, running statistics."""

from __future__ import annotations

from typing import Literal

import msgspec

from torchwhy.finding import SourceSpan
from torchwhy.record.event import Event
from torchwhy.record.numbers import Real


class StateLoaded(Event, frozen=True, tag="state-loaded"):
    """A module is about to load a state: how many of its tensors the state has in the same size (`fits`).

    `given` and `wanted` count the tensors of the state and of the module, `given_names` and `wanted_names` are the
    first of their names. `own` tensors of the state lie in the memory of the module itself; `written_since` means that
    the module's tensors were changed in place since it handed its state out. `read` is the `CheckpointRead` that most
    tensors come from, -1 for none. `within` is the entry of the state that holds tensors which fit. `trained` means
    that an optimizer holds parameters of the module.
    """

    step: int
    kind: str
    given: int
    wanted: int
    fits: int
    strict: bool
    own: int = 0
    written_since: bool = False
    given_names: list[str] = []
    wanted_names: list[str] = []
    read: int = -1
    within: str | None = None
    trained: bool = False
    location: SourceSpan | None = None


class CheckpointEntry(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One entry of a checkpoint by what it holds; `key` is empty if the file is this entry.

    `size` counts tensors of weights, and tensors that an optimizer keeps of its steps. `groups` are the parameters in
    each group of an optimizer, `rates` and `initial_rates` their learning rates, `settings` the other numbers of the
    first group. `position` is the number that a scheduler or a counter has reached, or the scale of a GradScaler.
    """

    key: str
    kind: Literal["weights", "optimizer", "scheduler", "scaler", "count"]
    size: int = 0
    names: list[str] = []
    groups: list[int] = []
    rates: list[float] = []
    initial_rates: list[float] = []
    settings: dict[str, float] = {}
    position: float = 0.0


class CheckpointRead(Event, frozen=True, tag="checkpoint-read"):
    """The program read a file with `torch.load` that holds the state of a training; `index` names it elsewhere."""

    step: int
    index: int
    entries: list[CheckpointEntry]
    location: SourceSpan | None = None


class CheckpointMet(Event, frozen=True, tag="checkpoint-met"):
    """An optimizer makes its first step after a checkpoint was read whose weights fit the model that it trains.

    `fits` of the model's `parameters` are in the checkpoint in the same size, `equal` of the `compared` ones have the
    same first values. `applied` says which module loaded them: this one, another one, one that is gone, or none.
    `kept` counts the tensors that the optimizer keeps of earlier steps, before its first one here.
    """

    step: int
    optimizer: int
    read: int
    key: str
    model: str
    parameters: int
    fits: int
    compared: int
    equal: int
    applied: Literal["here", "elsewhere", "gone", "never"]
    kept: int = 0
    groups: list[int] = []
    rates: list[float] = []
    settings: dict[str, float] = {}


class UpdatesCompared(Event, frozen=True, tag="updates-compared"):
    """Sampled elements of an optimizer's weights, before some updates and after them.

    `elements` had a gradient other than 0 at the beginning, `same` of these are the same bit for bit after `updates`
    steps. `spacing` is the median distance to the next number of the dtype, `gradient` the median gradient.
    `kept_wider` means that the optimizer keeps the weights in a wider dtype, too.
    """

    step: int
    optimizer: int
    dtype: str
    updates: int
    elements: int
    same: int
    rate: Real
    spacing: Real
    gradient: Real
    weight: Real
    kept_wider: bool = False
    names: list[str] = []


class AverageMoved(Event, frozen=True, tag="average-moved"):
    """How a copy of a trained model moved between two steps: `copy = scale * copy + share * (model - copy)`.

    `writes` counts how often its tensors were written, `changed` tells whether a value differs; writes to `.data` count
    as one. `rebound` means that its tensors lie in other memory, as after `parameter.data = …` or a move to a device.
    `error` is what the formula leaves unexplained, relative to the way it went; `distance` is that from the model,
    relative to its size. `is_module` means that the copy is a module, not a collection of tensors; `location` is the
    last line that wrote one of its tensors by a method.
    """

    step: int
    copy: str
    model: str
    tensors: int
    writes: int
    changed: bool
    scale: Real = 1.0
    share: Real = 0.0
    error: Real = 0.0
    distance: Real = 0.0
    model_moved: bool = True
    is_module: bool = True
    rebound: bool = False
    location: SourceSpan | None = None


class NormStatistics(Event, frozen=True, tag="norm-statistics"):
    """Running statistics of a normalisation layer in the first forward pass in eval mode at a place.

    `initial` means that mean and variance are exactly 0 and 1, `scaled` that weight or bias of the layer differ between
    channels, as only training makes them. `mean_off` is how far the mean of what comes in lies from the running mean,
    in running standard deviations, and `variance_ratio` the variance of what comes in relative to the running one.
    `moved` is how far they have gone from 0 and 1 to those of what comes in.
    """

    step: int
    path: str
    layer: str
    kind: str
    initial: bool
    scaled: bool
    batches: int
    momentum: float | None
    mean_off: Real
    variance_ratio: Real
    moved: Real = 1.0
