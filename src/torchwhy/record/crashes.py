"""The event of an exception, and the small records it is made of."""

from __future__ import annotations

from typing import Literal

import msgspec

from torchwhy.finding import SourceSpan
from torchwhy.record.event import Event
from torchwhy.record.numbers import Real


class NamedTensor(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A tensor (or array) of the program by the text that names it: `x`, `self.weight`, `batch[0]`.

    `argument` is what the torch function that got it calls it (`input`, `target`). `made_by` is the expression that
    produced it, `origin` whether that was a batch, an array, an operation … `minimum`/`maximum` are given for integer
    tensors (labels, indices), `graph` is the name of its grad_fn.
    """

    name: str
    shape: list[int]
    dtype: str
    device: str = "cpu"
    kind: Literal["tensor", "parameter", "array"] = "tensor"
    requires_grad: bool = False
    graph: str | None = None
    argument: str | None = None
    origin: str | None = None
    made_by: SourceSpan | None = None
    minimum: float | None = None
    maximum: float | None = None


class Layer(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A module that was running: its path, its own repr, its numbers, and the expression that constructed it."""

    path: str
    kind: str
    text: str
    settings: dict[str, Real | bool | str | list[int] | None] = {}
    made_at: SourceSpan | None = None


class WalkStep(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One station of the data's way through the model: the module or expression and the shape that left it."""

    what: str
    shape: list[int]
    dtype: str
    location: SourceSpan | None = None


class FrameSeen(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One frame of the user's code on the way to an exception, outermost first, with the values it held."""

    location: SourceSpan
    tensors: list[NamedTensor] = []
    numbers: dict[str, Real | bool | str] = {}


class LoaderFacts(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The DataLoader whose batch was in hand (or being made): how its batches come about."""

    batch_size: int | None = None
    dataset_length: int | None = None
    drop_last: bool | None = None
    workers: int = 0
    batches_drawn: int = 0
    last_batch: list[str] = []
    usual_batch: list[str] = []
    indices: list[int] = []
    location: SourceSpan | None = None


class OperandTrial(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A change that was tried on the real operands right after the exception, and whether it went through.

    `kind` says what sort of change (`resize-layer`, `permute-input`, `cast-target` …), `diff` is the same change of the
    user's source where the edit is certain, `location` the place it changes. `target` is what was changed, in the
    program's words: the path of a layer, or the expression of a tensor (empty: it has none). `method` is the text put
    behind a tensor, as `.unsqueeze(0)` or ` - 1`. Of a layer, `parameter` is a number of its constructor, `right` the
    value that fits what it was given and `wrong` the value that it has. `order` are arguments in another order.
    Traces of older versions hold all this as a sentence, `change`.
    """

    worked: bool
    kind: str = ""
    detail: str = ""
    diff: str = ""
    location: SourceSpan | None = None
    target: str = ""
    method: str = ""
    parameter: str = ""
    right: int | None = None
    wrong: int | None = None
    order: list[str] = []
    change: str = ""


class Crash(Event, frozen=True, tag="crash"):
    """An exception, with everything around it that a person would look at.

    `frames` are the user's, outermost first; `operands` the tensors named in the failing expression (`location`);
    `inputs` what the torch function or operation that raised got itself, by its own names for them;
    `op` is the torch function that raised (`aten::addmm`, `torch.nn.functional.cross_entropy`), `layers` the running
    modules, outermost first; `walk` the shapes through the model up to here; `facts` are further numbers and `places`
    further lines, by name.
    `raised_by`: "user" is a `raise` or `assert` of the program itself, "python" an error of the language (KeyError …).
    `caught`: the program swallowed it (then `times` counts). `worker` is the original traceback of a loader's worker.
    """

    step: int
    type: str
    message: str
    caught: bool = False
    times: int = 1
    raised_by: Literal["torch", "user", "library", "python"] = "torch"
    op: str | None = None
    location: SourceSpan | None = None
    frames: list[FrameSeen] = []
    operands: list[NamedTensor] = []
    inputs: list[NamedTensor] = []
    layers: list[Layer] = []
    walk: list[WalkStep] = []
    loader: LoaderFacts | None = None
    trials: list[OperandTrial] = []
    worker: str | None = None
    facts: dict[str, Real | bool | str | list[int] | None] = {}
    places: dict[str, SourceSpan] = {}
