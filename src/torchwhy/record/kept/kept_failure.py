"""Events about what is kept of a failing step: the state before it, its batch, and the variables around it."""

from __future__ import annotations

from typing import Literal

import msgspec

from torchwhy.record.event import Event

Unkept = Literal["", "too-large", "update-made", "no-plain-tensors", "not-written", "no-state"]
LEAF = "leaf"  # the text of a tensor that gets a gradient: a parameter outside of modules
VariableKind = Literal[
    "value",
    "tensor",
    "module",
    "optimizer",
    "loader",
    "definition",
    "other",
]


class StateKept(Event, frozen=True, tag="state-kept"):
    """The state of the last good step lies in `file` of the run directory; if not, `unkept` says why.

    `parts` are the entries of the file, each with the expression that holds the object in the program; `models` of them
    are modules. `left_out` names objects whose state holds more than tensors and numbers, `loose` optimizers with
    parameters of no module. `drawn` tells whether the random state is of the moment after the step's batch was drawn;
    else it is of the end of the step before.
    """

    step: int
    file: str = ""
    size: int = 0
    limit: int = 0
    unkept: Unkept = ""
    detail: str = ""
    parts: dict[str, str] = {}
    models: list[str] = []
    left_out: list[str] = []
    loose: list[str] = []
    drawn: bool = False
    old_buffers: bool = True  # whether buffers are as before the step


class BatchKept(Event, frozen=True, tag="batch-kept"):
    """The batches of the failing step lie in `file` of the run directory; if not, `unkept` says why."""

    step: int
    file: str = ""
    size: int = 0
    unkept: Unkept = ""
    detail: str = ""
    batches: int = 0
    rows: list[list[int]] = []  # of the dataset, by batch, if the sampler yields numbers
    tensors: list[int] = []  # objects in the program's variables that are in the file, too


class VariableKept(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One variable: `text` is an expression that gives a value, or the class; equal `object` numbers are one object."""

    kind: VariableKind
    text: str = ""
    object: int = 0


class FrameKept(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One function of the program that was running, at `line`; `variables` are its own."""

    file: str
    function: str
    line: int
    first_line: int
    variables: dict[str, VariableKept] = {}


class FramesKept(Event, frozen=True, tag="frames-kept"):
    """The program's running functions when a step failed, innermost first, and the globals of their files."""

    step: int
    frames: list[FrameKept] = []
    globals: dict[str, dict[str, VariableKept]] = {}


class UpdateSkipped(Event, frozen=True, tag="update-skipped"):
    """An update was left out because of a bad loss or gradient; `rows` of the dataset were in its batches.

    `bad_rows` are those whose data are not finite. Both are empty if no loader with numbered rows gave them.
    """

    step: int
    rows: list[int] = []
    bad_rows: list[int] = []
