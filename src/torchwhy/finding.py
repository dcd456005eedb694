"""The types that all stages share: a finding with its place, certainty, evidence and fixes."""

from __future__ import annotations

import math
from typing import Literal

from torchwhy.diagnosis import Diagnosis
from torchwhy.plain_data import dataclass

Severity = Literal["error", "warning", "note"]
Certainty = Literal["observed", "replayed", "verified"]
Safety = Literal["safe", "changes-results", "show-only"]
# What became of a change. In the first five the failure is gone: with "cured" the model also learns, with "runs" that
# is not shown, "changes-intent" undoes something that the program states, "symptom-only" hides the cause, and
# "fits-this-call" was tried on the failing call alone.
Verdict = Literal[
    "cured",
    "runs",
    "changes-intent",
    "symptom-only",
    "fits-this-call",
    "no-difference",
    "not-run",
]

# What a finding affects: training itself, only values computed in evaluation, or the batches that the program lost
# when it caught an exception and went on.
Scope = Literal["training", "evaluation", "lost-batches"]

# What the user sees of a cause, for the headline: `fault` if training seems to work in spite of it.
Effect = Literal[
    "training-broke",
    "nan-in-evaluation",
    "infinity-in-evaluation",
    "nan-computed",
    "infinity-computed",
    "lost-batches",
    "exception",
    "memory-grows",
    "evaluation-wrong",
    "loss-grew",
    "loss-never-falls",
    "fault",
]


@dataclass(frozen=True)
class SourceSpan:
    """A part of the program's source; columns count from 0, `end_column` is exclusive."""

    file: str
    line: int
    end_line: int | None = None
    column: int | None = None
    end_column: int | None = None
    function: str | None = None
    module: str | None = None
    expression: str | None = None

    def __str__(self) -> str:
        """Return `train.py:41 in forward`, of a notebook's cell `In [7], line 12 in forward`."""
        place = f"{self.file}, line {self.line}" if self.is_cell else f"{self.file}:{self.line}"
        if self.function in (None, "<module>"):
            return place
        return f"{place} in {self.function}"

    @property
    def is_cell(self) -> bool:
        """Tell whether the file is a cell of a notebook."""
        return self.file.startswith("In [")


@dataclass(frozen=True)
class Sample:
    """The position of a sample in its batch, and its index in the dataset, or in the program's tensor `rows_of`.

    `more` further samples of the batch are like it.
    """

    position: int
    dataset_index: int | None = None
    rows_of: str | None = None
    more: int = 0


@dataclass(frozen=True)
class LoopPosition:
    """The epoch and the batch of a step as the program's own loops count them.

    `first_batch` is the first batch of a step that has several; `batch` is then the last one.
    """

    epoch: int
    batch: int
    first_batch: int | None = None

    def __str__(self) -> str:
        """Return `epoch 2, batch 5`."""
        if self.first_batch is None:
            return f"epoch {self.epoch}, batch {self.batch}"
        return f"epoch {self.epoch}, batches {self.first_batch}–{self.batch}"


@dataclass(frozen=True)
class Label:
    """What an operand of the marked expression was: its source text, and its value or shape in a few words."""

    operand: str
    reading: str


@dataclass(frozen=True)
class Evidence:
    """One measured fact. `series` holds the numbers of a curve, oldest first.

    `label` tells the same fact under an operand in the source, if the finding's place is the expression that has it.
    """

    claim: str
    value: float | str | None = None
    step: int | None = None
    location: SourceSpan | None = None
    series: tuple[float, ...] | None = None
    label: Label | None = None


@dataclass(frozen=True)
class Trial:
    """The result of running the program with a fix.

    `with_it` and `without_it` describe the two runs; the losses are their curves, oldest first. `healthy_change` is
    how far the change moves the losses of the steps before the failure, relative to them; None if there are none.
    """

    verdict: Verdict = "not-run"
    steps: int = 0
    before: dict[str, float] | None = None
    after: dict[str, float] | None = None
    with_it: str = ""
    without_it: str = ""
    before_losses: tuple[float, ...] | None = None
    after_losses: tuple[float, ...] | None = None
    healthy_change: float | None = None

    @property
    def summary(self) -> str:
        """Return both runs in one sentence."""
        return f"{self.with_it}; {self.without_it}" if self.without_it else self.with_it


@dataclass(frozen=True)
class Fix:
    """A proposed change: a unified diff, another command line (`command`, `environment`), or advice in the title.

    `environment` holds words such as `LR=0.05`. `hides` means that the change keeps a bad value from spreading and
    leaves what makes it, as a clamp or `nan_to_num` does.
    """

    title: str
    diff: str = ""
    safety: Safety = "changes-results"
    trial: Trial = Trial()
    command: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    hides: bool = False

    @property
    def can_be_tried(self) -> bool:
        """Tell whether it is a change that a trial can make, not advice."""
        return bool(self.diff or self.command)


@dataclass(frozen=True)
class Account:
    """How many times too long the updates were (`excess`), and the factor by which a cause lengthened them (`covers`).

    The defaults mean that the harm has no measure and the cause explains it alone. `otherwise` is the finding to
    report if the cause does not cover the excess, or another one further back does.
    """

    excess: float = 1.0
    covers: float = math.inf
    otherwise: Finding | None = None


def advice_of(diagnosis: Diagnosis) -> tuple[Fix, ...]:
    """Return the remedies of a diagnosis as fixes without a diff."""
    return tuple(Fix(title, safety="show-only") for title in diagnosis.remedies)


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, in the program's own words and numbers.

    `diagnosis` holds what was measured; the message derives from it. `reservation` is a reason to take the finding
    less seriously, `account` lets `explain` weigh rival causes. `births` and `crash` refer to the recorded events
    behind the finding (a crash by its position among the crashes of the trace). `observed_from` is the first step of
    the observation, if it is a later one. `location` is the place to change; `symptom_at` is where the fault shows.
    `is_in_library` means that the expression at `location` only led to the operation, which a library issued.
    """

    detector: str
    severity: Severity
    diagnosis: Diagnosis
    step: int | None = None
    rank: int = 0
    location: SourceSpan | None = None
    evidence: tuple[Evidence, ...] = ()
    certainty: Certainty = "observed"
    sample: Sample | None = None
    explains: tuple[Finding, ...] = ()
    fixes: tuple[Fix, ...] = ()
    births: tuple[int, ...] = ()
    crash: int | None = None
    scope: Scope = "training"
    observed_from: int | None = None
    reservation: Diagnosis | None = None
    account: Account | None = None
    effect: Effect = "fault"
    symptom_at: SourceSpan | None = None
    position: LoopPosition | None = None
    is_in_library: bool = False

    @property
    def message(self) -> str:
        """Return what is wrong, in one sentence."""
        sentence = self.diagnosis.sentence
        if self.reservation is not None:
            sentence += f"; {self.reservation.sentence}"
        if self.observed_from is not None:
            sentence += f" (since step {self.observed_from}, in a later phase of training)"
        return sentence

    @property
    def headline(self) -> str:
        """Return what is wrong without the step, the sample and the values, which a report shows beside it."""
        words = self.diagnosis.headline_words
        if self.reservation is not None:
            words += f"; {self.reservation.sentence}"
        return words if self.observed_from is None else f"{words} (in a later phase of training)"


@dataclass(frozen=True)
class Silenced:
    """A finding that the user allows, and how: by an option or setting, or by a comment in the source."""

    detector: str
    severity: Severity
    location: SourceSpan | None
    by: Literal["option", "comment"]
