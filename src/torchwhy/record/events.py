"""One frozen, typed struct for each kind of line in a trace.

`observe` and `replay` write them, the later stages read them; nothing else passes between the two. Numbers that may be
non-finite have type `Real` (see numbers.py). `step` counts optimizer steps from 0; -1 is before the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from torchwhy.finding import SourceSpan
from torchwhy.record import crashes, learning, wiring
from torchwhy.record.crashes import Crash as Crash
from torchwhy.record.crashes import Layer as Layer
from torchwhy.record.crashes import LoaderFacts as LoaderFacts
from torchwhy.record.crashes import NamedTensor as NamedTensor
from torchwhy.record.crashes import OperandTrial as OperandTrial
from torchwhy.record.event import BEFORE_FIRST_STEP as BEFORE_FIRST_STEP
from torchwhy.record.event import SCHEMA as SCHEMA
from torchwhy.record.event import Event as Event
from torchwhy.record.event import LeftOut as LeftOut
from torchwhy.record.event import MicroscopeLeft as MicroscopeLeft
from torchwhy.record.event import MissingFeature as MissingFeature
from torchwhy.record.event import Recorded as Recorded
from torchwhy.record.event import Thinned as Thinned
from torchwhy.record.inputs import data_events
from torchwhy.record.kept import kept_failure, kept_state
from torchwhy.record.learning import SampleTried as SampleTried
from torchwhy.record.learning import StepInputs as StepInputs
from torchwhy.record.numbers import Real
from torchwhy.record.ranks import rank_events
from torchwhy.record.tensors import Operand as Operand
from torchwhy.record.tensors import OriginKind as OriginKind
from torchwhy.record.tensors import SampleValues as SampleValues
from torchwhy.record.tensors import TensorFacts as TensorFacts
from torchwhy.record.tensors import Use as Use


class RunStarted(Event, frozen=True, tag="run"):
    """The first line: the process, and the private names that its torch and Python lack."""

    schema: int
    pid: int
    rank: int
    world_size: int
    argv: list[str]
    directory: str
    python: str
    torch: str
    started_unix_seconds: float
    rerun_of_step: int | None = None
    missing: list[MissingFeature] = []
    host: str = ""


class ProgramFile(Event, frozen=True, tag="file"):
    """A file of the program as it ran: its text, and the SHA-256 of its content on disk."""

    file: str
    sha256: str
    text: str


class OptimizerMade(Event, frozen=True, tag="optimizer"):
    """An optimizer was constructed; `index` names it in later events."""

    index: int
    kind: str
    defaults: dict[str, Real | bool | str | None]
    location: SourceSpan | None = None


class OptimizerDescribed(Event, frozen=True, tag="optimizer-parameters"):
    """The parameters of an optimizer at its first step: names, shapes and dtypes, in the order of its groups."""

    index: int
    parameters: list[str]
    shapes: list[list[int]]
    dtypes: list[str]


class Step(Event, frozen=True, tag="step"):
    """One optimizer step, before its update. `losses` are the roots of the backward passes since the last step.

    Learning rates are recorded when they change; a non-finite one is null.
    """

    step: int
    optimizer: int
    losses: list[Real]
    milliseconds: float
    learning_rates: Sequence[float | None] | None = None
    batch: list[str] | None = None
    gradients_finite: bool = True

    @property
    def rates(self) -> list[float]:
        """Return the finite learning rates; empty if they did not change."""
        return [rate for rate in self.learning_rates or [] if rate is not None]


class ClosureRan(Event, frozen=True, tag="closure"):
    """The first loss that the closure of a step returned; its `Step` was written before the closure ran."""

    step: int
    loss: Real


class Weights(Event, frozen=True, tag="weights"):
    """The RMS of every parameter and gradient of one optimizer, at sampled steps."""

    step: int
    optimizer: int
    names: list[str]
    weight_rms: list[Real]
    gradient_rms: list[Real]


class ScaleChanged(Event, frozen=True, tag="scale"):
    """The loss scale of a GradScaler, whenever it differs from the one before."""

    step: int
    scale: Real
    location: SourceSpan | None = None


class Alarm(Event, frozen=True, tag="alarm"):
    """A non-finite value was about to be written, was found written, or was read by the program itself.

    `since` is the last step at which it is known to have been finite, if that is not the step before. `compiled` if
    the step is part of compiled code, `untrained` if the program has made no optimizer and no backward pass,
    `among_finite` if an evaluation read finite numbers at the same place after the same forward passes, as of classes.
    """

    step: int
    optimizer: int | None
    what: Literal["loss", "gradient", "parameter", "buffer", "value", "evaluation"]
    losses: list[Real]
    names: list[str] = []
    withheld: bool = False
    location: SourceSpan | None = None
    since: int | None = None
    compiled: bool = False
    untrained: bool = False
    among_finite: bool = False


class ForwardTwin(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The forward operation that a backward birth differentiates.

    `hidden_by` is the place of a `where`, mask or selection that discarded exactly the bad elements. `inside` is the
    expression of a library that issued it, if the program's own did not; `operand_names` are then the library's.
    """

    op: str
    location: SourceSpan | None = None
    output_finite: bool = True
    hidden_by: SourceSpan | None = None
    births: list[int] = []
    operand_names: list[str] = []
    inside: SourceSpan | None = None


Phase = Literal["data", "forward", "backward", "accumulate", "clip", "update"]
REFUSED = "value refused with an exception"  # In `reaches`: the value made the program raise an exception.


class Birth(Event, frozen=True, tag="birth"):
    """A non-finite value appeared where there was none.

    `kind`
      operation      all operands are finite, the output is not;
      from-infinity  operands contain infinities (their births are `parents`), the output contains new NaN;
      source         the value came with a tensor that no recorded operation made: a batch, a parameter, a constant.
    `phase` is what the program was doing. `location` is the program's expression; in backward, that of the
    differentiated forward operation (the `backward()` call is `called_from`), unless the program's own code ran there.
    `inside` is the expression of a library (or of torch's Python code) that issued the operation, if the call at
    `location` only led to it; the names of the operands are then the library's.
    `reaches` lists what the value spoiled: "loss", "gradient of fc.weight", "parameter fc.weight", "buffer
    bn.running_mean", "output of net", "value read by the program", `REFUSED`; empty if `healed_by` absorbed it.
    `wider` is the result of redoing the operation in a wider dtype; None if that was not tried.
    `reduced` is the number of elements that went into each output element of a reduction.
    `dataset_indices` are the rows of the bad `positions` in the dataset, or in the program's tensor `rows_of`.
    `made_after` is the step after which the dataset of a batch came into use; None if it is as old as training.
    `used` is how a program used it that does not train. `of_counts` means that a divisor was computed from integers.
    """

    id: int
    step: int
    kind: Literal["operation", "from-infinity", "source"]
    phase: Phase
    op: str
    node: str | None = None
    location: SourceSpan | None = None
    called_from: SourceSpan | None = None
    inside: SourceSpan | None = None
    operands: list[Operand] = []
    output: TensorFacts | None = None
    value: Real = "nan"
    count: int = 0
    wider: Literal["finite", "nonfinite"] | None = None
    reduced: int | None = None
    fully_infinite_row: bool = False
    parents: list[int] = []
    reaches: list[str] = []
    healed_by: SourceSpan | None = None
    forward: ForwardTwin | None = None
    origin: OriginKind = "unknown"
    origin_name: str | None = None
    positions: list[int] = []
    dataset_indices: list[int] = []
    rows_of: str | None = None
    field: str | None = None
    made_after: int | None = None
    used: Use | None = None
    of_counts: bool = False
    order: int = 0


class Replayed(Event, frozen=True, tag="replayed"):
    """How the failing step was observed; `reproduced` is whether loss and gradients are the same, None if unknown.

    `faithful` is whether the same went into both: weights, data, random numbers; None if unknown. `moved` are the
    program's variables that had another value the second time.
    """

    step: int
    how: Literal["first-step", "in-place", "rerun"]
    reproduced: bool | None
    detail: str = ""
    eager_of_compiled: bool = False
    faithful: bool | None = None
    moved: list[str] = []


class ModuleCalled(Event, frozen=True, tag="module"):
    """One module call of an observed step, with the shapes that went in and out."""

    step: int
    path: str
    kind: str
    inputs: list[str]
    outputs: list[str]
    location: SourceSpan | None = None
    look: int = 0


class GradientsClipped(Event, frozen=True, tag="clip"):
    """`clip_grad_norm_` or `clip_grad_value_` ran at an observed step; `scaled` if the loss scale was still in them."""

    step: int
    scaled: bool
    location: SourceSpan | None = None


class ExceptionSeen(Event, frozen=True, tag="exception"):
    """A torch operation raised an exception (`caught` is None: unknown), or the program ended with it (False)."""

    step: int
    type: str
    message: str
    caught: bool | None = None
    location: SourceSpan | None = None
    operands: list[Operand] = []
    op: str | None = None


class ArrayWarning(Event, frozen=True, tag="array-warning"):
    """NumPy warned of an invalid value, an overflow or a division by zero."""

    step: int
    message: str
    location: SourceSpan


class CompilerEntered(Event, frozen=True, tag="compiler-entered"):
    """The program called a compiled function for the first time.

    From then on the order of calls, modes of models and values that the program reads are not recorded, nor steps that
    are part of compiled code.
    """

    step: int


class ProbeFailed(Event, frozen=True, tag="probe-failed"):
    """A probe failed and was switched off; training went on."""

    probe: str
    reason: str
    noticed_at: SourceSpan | None = None  # where a failed accelerator was met


class RunEnded(Event, frozen=True, tag="end"):
    """The last line of a process that ended in an orderly way.

    `cut_short` means that a rehearsal ended it after its last step: the program would have gone on.
    """

    steps: int
    stopped_by_us: bool = False
    cut_short: bool = False
    own_seconds: float = 0.0
    wall_seconds: float = 0.0


AnyEvent = (
    RunStarted
    | ProgramFile
    | OptimizerMade
    | OptimizerDescribed
    | Step
    | ClosureRan
    | Weights
    | ScaleChanged
    | Thinned
    | LeftOut
    | Alarm
    | Birth
    | SampleTried
    | SampleValues
    | StepInputs
    | Replayed
    | ModuleCalled
    | GradientsClipped
    | ExceptionSeen
    | crashes.Crash
    | learning.StepCalls
    | learning.StaleGradients
    | learning.ManualUpdate
    | learning.ParameterCensus
    | learning.GraphOperation
    | learning.GraphCut
    | learning.LossRoot
    | learning.Activation
    | learning.ModelOutput
    | learning.ForwardModes
    | learning.DropoutInEvaluation
    | learning.Holdings
    | learning.Experiment
    | learning.Evaluated
    | learning.MetricReduced
    | learning.ComparedAll
    | wiring.SchedulerSeen
    | wiring.PlateauMetrics
    | wiring.CallsCounted
    | wiring.IdleOptimizer
    | wiring.ParametersFollowed
    | wiring.LateParameters
    | wiring.AliasLoaded
    | wiring.KeptLoaded
    | wiring.LookedAt
    | wiring.DroppedResult
    | rank_events.AnyRankEvent
    | wiring.FileSaved
    | wiring.FileLoaded
    | wiring.StateBeforeStep
    | kept_state.StateLoaded
    | kept_state.CheckpointRead
    | kept_state.CheckpointMet
    | kept_state.UpdatesCompared
    | kept_state.AverageMoved
    | kept_state.NormStatistics
    | kept_failure.StateKept
    | kept_failure.BatchKept
    | kept_failure.FramesKept
    | kept_failure.UpdateSkipped
    | data_events.LoaderSeen
    | data_events.PositionSeen
    | data_events.RowsOrdered
    | data_events.RowsRepeated
    | data_events.RowsShared
    | data_events.RowChanged
    | data_events.WorkersCompared
    | ArrayWarning
    | CompilerEntered
    | MicroscopeLeft
    | ProbeFailed
    | RunEnded
)
