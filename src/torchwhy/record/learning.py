"""Events about learning: what was called in which order, who feeds the loss, who is alive, what is held.

They come from the watched steps (the first, and a few later ones) and from counters that cost nothing. An event of
the microscope says which look it belongs to: `look` 0 is the one at the beginning of the program, 1, 2 and 3 are those
at the first steps of optimizers that begin when training is under way (see `Trace.later_observations`).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from torchwhy.finding import SourceSpan
from torchwhy.record.event import Event
from torchwhy.record.numbers import Real
from torchwhy.record.tensors import TensorFacts

# Asked of the live model after the first step; the detectors look for the answer under these words.
SAMPLES_QUESTION = "do other samples' outputs move when sample 0 is changed?"


class CallSeen(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One call that matters for the order of a step: zero_grad, backward, clip, step, scheduler, train, eval."""

    name: str
    location: SourceSpan | None = None
    target: str | None = None
    optimizer: int | None = None
    used: bool = False  # the program does something with the result, where that matters


class StepCalls(Event, frozen=True, tag="calls"):
    """The calls since the step before, in order, for the first few steps."""

    step: int
    calls: list[CallSeen]


class ManualUpdate(Event, frozen=True, tag="hand-update"):
    """Where a program without optimizer wrote its weights between two backward passes."""

    step: int
    location: SourceSpan | None = None


class StaleGradients(Event, frozen=True, tag="stale-gradients"):
    """A backward pass added to gradients that an optimizer step had already used and nobody cleared since.

    `times` counts such passes so far; the event is written at the first and then rarely. `location` is the backward
    call, `stepped_at` the step that used the sum. A program that updates by hand has optimizer -1.
    """

    step: int
    optimizer: int
    used_at_step: int
    times: int
    cleared_ever: bool
    location: SourceSpan | None = None
    stepped_at: SourceSpan | None = None


LEAF = "Tensor"  # the owner of a tensor of the program that is to be trained and is no nn.Parameter


class ParameterSeen(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One parameter after the first step's backward.

    `written_by`: what wrote its values last before training: random initialisation, a load (copy), a constant.
    `owner` is the class of its module, `registered` whether a model known by a variable reaches it.
    `made_at` is the line that wrote its values last, `rows_equal` whether all its rows are one and the same.
    `module` is the path of its module, `training` that module's mode, `model` the variable that holds the whole;
    `inside` is the module in whose forward an unregistered one ran.
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


class ParameterCensus(Event, frozen=True, tag="census"):
    """Every parameter of every known model and optimizer, just before an optimizer's first step.

    `backwards` counts the backward passes before it. `decays` are the weight decays by parameter, told when a group
    has one of its own. `initial_rates` are the rates that a scheduler found when it was made.
    """

    step: int
    optimizer: int
    parameters: list[ParameterSeen]
    backwards: int = 0
    decays: dict[str, float] = {}
    initial_rates: list[float] = []
    look: int = 0


class GraphOperation(Event, frozen=True, tag="operation"):
    """One forward operation of the first step; `inputs` are the `order`s of the operations that made its operands.

    A leaf operand is named: `parameter fc.weight`, `batch[0]`, `array`. `differentiable`: autograd recorded it.
    Views (`is_view`) are transparent to `inputs`; `views` gives for each operand the last view it came through, -1 for
    none. `tracked`: whether autograd follows each operand; `parameters`: the names of those that are parameters.
    `made_at`, of a softmax that looks wrong: the constructor of a layer that no code of the program calls by itself.
    """

    order: int
    op: str
    step: int = 0
    location: SourceSpan | None = None
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
    """Parameters of an optimizer were used, got no gradient, and this is where their graph was cut.

    `how`: detach, data, parameter (a new one of its values), item (and a new tensor of it), number (and nothing else),
    array, no-grad, underivable, flat (a derivative of 0), new-tensor. `joins`: all that the cut value meets later is an
    elementwise operation with another value that has a graph, as in a stop-gradient that is meant.
    `whole`: no parameter of the optimizer got a gradient.
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
    """The loss of a watched step: the operation that made it (`order` in the graph above), its value and place.

    The graph is that of the first step; of a later one only value, place and size are told:
    `operations` counts those with a gradient.
    """

    step: int
    order: int | None
    value: Real
    location: SourceSpan | None = None
    accumulates: bool = True
    operations: int = 0
    look: int = 0


class Activation(Event, frozen=True, tag="activation"):
    """One activation on a watched step. A unit is an element of the last dimension (of the channel for images).

    `dead` units gave exactly 0 on the whole batch; `saturated` is the share of elements at the flat ends. `made_at` is
    the constructor of a layer that no code of the program calls by itself, as in `nn.Sequential`.
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
        """Return the line to look at: where the layer is made, or else where it is called."""
        return self.made_at or self.location


class ModelOutput(Event, frozen=True, tag="output"):
    """What the outermost model gave on a watched step, and how much its rows differ from each other.

    `spread` is the largest difference between two rows, relative to the output's own size; 0: it ignores its input.
    `given` describes its first real input (`given_computed`: weights had a part in it); the root mean squares are of
    that input and of the output.
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
    """How often a model ran at one place in each mode; written when the program ends.

    `steps` counts the optimizer steps before which it ran, `backwards` the backward passes it fed. `discarded`: the
    result was not used. `repeats`: calls with the very input of the call before. `switched_at` is the `train()` or
    `eval()` call before the first forward, `freshly`: no backward pass had run since. `called_from` is the way there,
    innermost first, at the first time.
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
    """A model in eval mode dropped values, by a function called at this place."""

    step: int
    path: str
    location: SourceSpan | None = None


class Held(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A variable of the program that holds tensors: how many, how many with a graph, how many bytes and graph nodes.

    `function` is where the variable lives: a function, the class of an attribute, None for a module's own.
    `file` is where its name is found, `first_line` that of the function whose local variable it is.
    `graph_nodes` of a single tensor counts the operations through which its graph reaches back to the first sample.
    `is_suspect`: it grew, or is large; then detectors find these places in the program's text: the statement that
    grows it, the one that empties or renews it time and again, the first that uses its content. `feeds_backward`: what
    it holds goes into a backward pass by intention.
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


class RunningFrame(msgspec.Struct, frozen=True):
    """A frame of the program: the line it is at, its function, and the function's first line."""

    file: str
    line: int
    function: str
    first_line: int


class Holdings(Event, frozen=True, tag="holdings"):
    """What the program's variables hold on a sampled step, and the memory of the process; `frames` ran then.

    `moment` is what made us look: a step, a batch drawn long after the last step (`batches` since then), a call
    by which the program hoped to free memory (`call`, the `calls`-th), or the end of the program.
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
    """A question put to the live program between steps and its answer, state restored bit for bit afterwards."""

    step: int
    question: str
    answer: dict[str, Real | bool | str | list[float] | None]
    seconds: float = 0.0
    places: dict[str, SourceSpan] = {}


class MetricReduced(Event, frozen=True, tag="metric"):
    """An average over one whole pass of a loader that is not what it stands for: `given` in place of `right`.

    `kind`: what was added up: right answers, their mean over each batch, a mean loss. `divided_by` says in words what
    `divisor` counts; `location` is the division, `added_at` the sum.
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


class Evaluated(Event, frozen=True, tag="evaluated"):
    """A number that the program read again and again without gradients, from an expression that names a loss.

    `values` are its means between two training steps, `steps` how many training steps had been made by then.
    """

    location: SourceSpan
    steps: list[int]
    values: list[float]
