"""The event of an exception, and the structs it consists of."""

from __future__ import annotations

from typing import Literal

import msgspec

from torchwhy.finding import SourceSpan
from torchwhy.record.event import Event
from torchwhy.record.numbers import Real


class NamedTensor(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A tensor (or array) of the program; `name` is the text that names it: `x`, `self.weight`, `batch[0]`.

    `argument` is the argument of torch's function that it was passed for (`input`, `target`). `made_by` is the
    expression that produced it, `origin` its kind (a batch, an array, an operation …). `minimum` and `maximum` are
    set for integer tensors (labels, indices). `graph` is the name of its grad_fn.
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
    """A running module: its path, its repr, its settings, and the expression that constructed it."""

    path: str
    kind: str
    text: str
    settings: dict[str, Real | bool | str | list[int] | None] = {}
    made_at: SourceSpan | None = None


class WalkStep(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One station of the data in the model: a module or expression, and the shape of its result."""

    what: str
    shape: list[int]
    dtype: str
    location: SourceSpan | None = None


class FrameSeen(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One frame of the program on the way to an exception, with the values of its variables."""

    location: SourceSpan
    tensors: list[NamedTensor] = []
    numbers: dict[str, Real | bool | str] = {}


class LoaderFacts(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The DataLoader of the current batch, or of the one being built, and how it builds batches."""

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
    """A change that was tried on the real operands right after the exception, and whether the call then worked.

    `kind` is the kind of change (`resize-layer`, `permute-input`, `cast-target` …), `diff` the same change to the
    source if the edit is certain, `location` the place it changes. `target` is the changed object in the program's
    words: the path of a layer, or the expression of a tensor (empty if it has none). `method` is the text appended
    to a tensor, such as `.unsqueeze(0)` or ` - 1`. For a layer, `parameter` is an argument of its constructor,
    `right` the value that fits its input and `wrong` its actual value; `at_least` means that later inputs may need a
    larger one. `order` lists arguments in another order.
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
    at_least: bool = False
    order: list[str] = []
    change: str = ""


class Crash(Event, frozen=True, tag="crash"):
    """An exception with its context.

    `frames` are those of the program, outermost first; `operands` the tensors named in the failing expression
    (`location`); `inputs` the arguments of the torch function or operation that raised, by its own names for them;
    `op` that function (`aten::addmm`, `torch.nn.functional.cross_entropy`); `layers` the running modules, outermost
    first; `walk` the shapes through the model up to here; `facts` further numbers and `places` further lines, by name.
    `raised_by` is "user" for a `raise` or `assert` of the program, "python" for an error of the language (KeyError …).
    `caught` means that the program caught it, `times` how often; `untrained` that it never trains, so that nothing of
    training was lost. `worker` is the original traceback of a loader's worker.
    """

    step: int
    type: str
    message: str
    caught: bool = False
    times: int = 1
    untrained: bool = False
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
