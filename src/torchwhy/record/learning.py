"""Events about learning: the order of calls, the graph of the loss, activations, parameters, held tensors.

They come from observed steps (the first, and a few later ones) and from cheap counters. In events of the microscope,
`look` is the number of the observation: 0 is the one at the beginning of the program, 1, 2 and 3 are those at the first
steps of optimizers that begin later (see `Trace.later_observations`).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from torchwhy.finding import SourceSpan
from torchwhy.record.event import Event
from torchwhy.record.numbers import Real
from torchwhy.record.tensors import TensorFacts

# The question of an experiment on the live model after the first step, by which causes find its answer.
SAMPLES_QUESTION = "do other samples' outputs move when sample 0 is changed?"


class CallSeen(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One call whose order in a step matters: zero_grad, backward, clip, step, scheduler, train, eval."""

    name: str
    location: SourceSpan | None = None
    target: str | None = None
    optimizer: int | None = None
    by_ranks: bool = (
        False  # Torch's code for several ranks makes it, such as the schedule of a pipeline.
    )
    used: bool = False  # The program uses the result; recorded only where that matters.
    again: bool = False  # A clip of a gradient that another one clipped since the last step.


class StepCalls(Event, frozen=True, tag="calls"):
    """The calls since the previous step, in order, for the first few steps."""

    step: int
    calls: list[CallSeen]


class ManualUpdate(Event, frozen=True, tag="hand-update"):
    """The place where a program without an optimizer updates its weights between two backward passes."""

    step: int
    location: SourceSpan | None = None


class StaleGradients(Event, frozen=True, tag="stale-gradients"):
    """A backward pass added to gradients that an optimizer step had already used and no call has cleared since.

    `times` counts such passes so far; the event is written at the first one and then rarely. `location` is the
    backward call, `stepped_at` the step that used the sum. `optimizer` is -1 in a program without an optimizer.
    """

    step: int
    optimizer: int
    used_at_step: int
    times: int
    cleared_ever: bool
    location: SourceSpan | None = None
    stepped_at: SourceSpan | None = None


LEAF = "Tensor"  # The owner of a trainable tensor that is no nn.Parameter.


class ParameterSeen(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One parameter after the first step's backward pass.

    `written_by` is what wrote its values last before training: random initialisation, a load (copy), a constant.
    `owner` is the class of its module, `registered` whether a model held by a variable reaches it. `made_at` is the
    line that wrote its values last, `rows_equal` whether all its rows are equal. `module` is the path of its module,
    `training` that module's mode, `model` the variable that holds the whole model, `inside` the module in whose
    forward an unregistered one ran. `unheeded` is an attribute that was set to False on it or on a module around it, as
    if to freeze it, and that torch does not read.
    """

    name: str
    shape: list[int]
    in_optimizer: bool
    requires_grad: bool
    used: bool
    gradient: Literal["none", "zero", "nonzero"]
    registered: bool = True
    owner: str | None = None
    written_by: Literal["random", "constant", "loaded", "unknown"] = "unknown"
    made_at: SourceSpan | None = None
    rows_equal: bool = False
    rms: Real = 0.0
    module: str | None = None
    model: str | None = None
    training: bool = True
    inside: str | None = None
    unheeded: str | None = None


class ParameterCensus(Event, frozen=True, tag="census"):
    """Every parameter of every known model and optimizer, just before an optimizer's first step.

    `backwards` counts the backward passes before it. `decays` are the weight decays by parameter, recorded if a group
    has one of its own. `initial_rates` are the learning rates before any scheduler changed them.
    """

    step: int
    optimizer: int
    parameters: list[ParameterSeen]
    backwards: int = 0
    decays: dict[str, float] = {}
    initial_rates: list[float] = []
    look: int = 0


class GraphOperation(Event, frozen=True, tag="operation"):
    """One forward operation of an observed step; `inputs` are the `order`s of the operations that made its operands.

    `leaves` names the leaf operands: `parameter fc.weight`, `batch[0]`, `array`. `differentiable` means that autograd
    recorded it. `inputs` skips views (`is_view`); `views` is for each operand the last view it passed through, -1 for
    none. `tracked` is whether autograd follows each operand, `parameters` the names of those that are parameters.
    `made_at` is set for a suspicious softmax inside a layer that only torch calls: the layer's constructor.
    `issuer` is whose code issued the operation: `user`, `library`, or a part of torch.
    """

    order: int
    op: str
    step: int = 0
    location: SourceSpan | None = None
    issuer: str = "user"
    module: str | None = None
    shape: list[int] = []
    dtype: str = ""
    inputs: list[int] = []
    input_shapes: list[list[int]] = []
    leaves: list[str] = []
    scalars: dict[str, Real | bool | str | list[int] | None] = {}
    differentiable: bool = False
    facts: list[TensorFacts] = []
    is_view: bool = False
    views: list[int] = []
    tracked: list[bool] = []
    parameters: list[str] = []
    made_at: SourceSpan | None = None
    look: int = 0


class GraphCut(Event, frozen=True, tag="graph-cut"):
    """The place where the graph was cut, so that used parameters of an optimizer got no gradient.

    `how` is detach, data, parameter (a new one with its values), item (and a new tensor made of it), number (used as
    such), array, no-grad, checkpoint (a reentrant one), underivable, flat (a derivative of 0), new-tensor, or in-vain:
    nothing cuts the graph, but no loss depends on its last operation, the one at `location`. `joins` means that the
    cut value only enters elementwise operations with a value that has a graph, as in an intended
    stop-gradient. `whole` means that no parameter of the optimizer got a gradient.
    """

    step: int
    optimizer: int
    parameters: list[str]
    how: str
    op: str
    location: SourceSpan | None = None
    joins: bool = False
    whole: bool = False
    loaded: bool = False
    look: int = 0


class LossRoot(Event, frozen=True, tag="loss-root"):
    """The loss of an observed step: the operation that made it (`order` in the graph above), its value and place.

    The graph is recorded for the first step of an observation; later events have only value, place and
    `operations`, the number of operations with a gradient.
    """

    step: int
    order: int | None
    value: Real
    location: SourceSpan | None = None
    accumulates: bool = True
    operations: int = 0
    look: int = 0


class Activation(Event, frozen=True, tag="activation"):
    """One activation at an observed step. A unit is an element of the last dimension (for images, of the channels).

    `dead` units output exactly 0 for the whole batch; `saturated` is the share of elements at the flat ends. `made_at`
    is the constructor of a layer that only torch calls, as in `nn.Sequential`.
    """

    step: int
    op: str
    order: int
    location: SourceSpan | None = None
    module: str | None = None
    shape: list[int] = []
    units: int = 0
    dead: int = 0
    saturated: float = 0.0
    zeros: float = 0.0
    rms: Real = 0.0
    made_at: SourceSpan | None = None
    look: int = 0

    @property
    def place(self) -> SourceSpan | None:
        """Return where the layer is constructed, or else where it is called."""
        return self.made_at or self.location


class ModelOutput(Event, frozen=True, tag="output"):
    """The output of the outermost model at an observed step, and how much its rows differ from each other.

    `spread` is the largest difference between two rows, relative to the output's size; at 0 the model ignores its
    input. `given` describes its first floating-point input (`given_computed` if weights had a part in it), `given_rms`
    and `rms` are the RMS of that input and of the output.
    """

    step: int
    path: str
    facts: TensorFacts
    spread: Real
    rows: int
    training: bool
    grad: bool
    input_spread: Real = 0.0
    location: SourceSpan | None = None
    given: TensorFacts | None = None
    given_rms: Real = 0.0
    given_computed: bool = False
    rms: Real = 0.0
    look: int = 0


class ForwardModes(Event, frozen=True, tag="modes"):
    """How often a model ran at one place in one mode; written when the program ends.

    `steps` counts the optimizer steps before which it ran, `backwards` the backward passes it fed. `discarded` means
    that the result was not used, `repeats` counts calls with the same input as the call before. `switched_at` is the
    `train()` or `eval()` call before the first forward, `freshly` means that no backward pass had run since.
    `called_from` are the calls that led to the first forward, innermost first.
    """

    step: int
    path: str
    training: bool
    grad: bool
    count: int
    backwards: int
    first_step: int
    last_step: int
    mode_layers: list[str] = []
    location: SourceSpan | None = None
    steps: int = 0
    discarded: bool = False
    repeats: int = 0
    switched: str | None = None
    switched_at: SourceSpan | None = None
    freshly: bool = False
    called_from: list[SourceSpan] = []


class DropoutInEvaluation(Event, frozen=True, tag="dropout-in-evaluation"):
    """A model in eval mode dropped values, through a function called at this place."""

    step: int
    path: str
    location: SourceSpan | None = None


class Held(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A variable of the program that holds tensors: how many, how many with a graph, their bytes and graph nodes.

    `function` is the function or class that the variable belongs to, None for a global. `file` is the file that names
    it, `first_line` the first line of the function whose local it is. `graph_nodes`, for a single tensor, counts the
    operations in its graph back to the first sample. `is_suspect` means that it grew or is large; detectors then find
    in the program's text the statement that grows it, the one that regularly empties or rebinds it, and the first that
    reads it. `feeds_backward` means that its content goes into a backward pass on purpose. If its items are no tensors,
    `parts` says where in the last one those with a graph lie.
    """

    name: str
    kind: str
    tensors: int
    with_graph: int
    bytes: int
    graph_nodes: int = 0
    function: str | None = None
    file: str | None = None
    first_line: int | None = None
    is_suspect: bool = False
    grown_at: SourceSpan | None = None
    grown_line: str | None = None
    emptied_at: SourceSpan | None = None
    read_at: SourceSpan | None = None
    read_later: bool = False
    feeds_backward: bool = False
    parts: list[str] = []


class RunningFrame(msgspec.Struct, frozen=True):
    """A running frame of the program: its current line, its function, and the function's first line."""

    file: str
    line: int
    function: str
    first_line: int


class Holdings(Event, frozen=True, tag="holdings"):
    """A snapshot of what the program's variables hold, of the running `frames`, and of the process's memory.

    `moment` is the occasion: a step, a batch drawn long after the last step (`batches` since then), a call that should
    free memory (`call`, the `calls`-th), or the end of the program.
    """

    step: int
    held: list[Held]
    resident_bytes: int
    frames: list[RunningFrame] = []
    live_graph_nodes: int | None = None
    moment: Literal["step", "batch", "collect", "exit"] = "step"
    batches: int = 0
    call: SourceSpan | None = None
    calls: int = 0
    backwards: int = 0


class Experiment(Event, frozen=True, tag="experiment"):
    """A question put to the live program between two steps, and its answer; its state was restored bit for bit."""

    step: int
    question: str
    answer: dict[str, Real | bool | str | list[float] | None]
    seconds: float = 0.0
    places: dict[str, SourceSpan] = {}


class MetricReduced(Event, frozen=True, tag="metric"):
    """A wrong average over one whole pass of a loader: the program computes `given` instead of `right`.

    `kind` is what it adds up: correct answers, their mean over each batch, or a mean loss. `divided_by` says in words
    what `divisor` counts; `location` is the division, `added_at` the sum.
    """

    step: int
    variable: str
    kind: Literal["count", "mean", "loss"]
    divided_by: str
    divisor: Real
    given: Real
    right: Real
    total: Real
    batches: int
    samples: int
    first_batch: int
    last_batch: int
    location: SourceSpan | None = None
    added_at: SourceSpan | None = None


class ComparedAll(Event, frozen=True, tag="compared-all"):
    """A comparison in an evaluation that torch spreads: each of n predictions with each of n labels."""

    step: int
    operands: list[str]
    shapes: list[list[int]]
    location: SourceSpan | None = None


class Evaluated(Event, frozen=True, tag="evaluated"):
    """A loss that the program reads repeatedly without gradients: made as the one it trains on, or one of torch's.

    `values` are its means between two training steps, `steps` the number of training steps before each.
    """

    location: SourceSpan
    steps: list[int]
    values: list[float]


class SampleTried(Event, frozen=True, tag="sample-tried"):
    """The failing step was repeated with one sample replaced by a copy of a neighbour."""

    step: int
    position: int
    dataset_index: int | None
    cured: bool


class StepInputs(Event, frozen=True, tag="step-inputs"):
    """Digests of the program's variables when a step failed, to compare with a rerun."""

    step: int
    digests: dict[str, str]
