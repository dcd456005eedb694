"""The types and ranges of report.json: a stored report may be damaged, or come from a stranger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec

from torchwhy.finding import Certainty, Effect, Safety, Scope, Severity, Verdict
from torchwhy.question import Answer
from torchwhy.record.numbers import Real

MOST_FINDINGS = 10_000  # consequences counted once for every finding that they follow from
MOST_LINES = 10_000_000
LARGEST_STEP = 10**12

Step = Annotated[int, msgspec.Meta(ge=-1, le=LARGEST_STEP)]
Count = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_STEP)]
Line = Annotated[int, msgspec.Meta(ge=0, le=MOST_LINES)]
Text = Annotated[str, msgspec.Meta(pattern=r"^[^\x00]*$")]


class _Span(msgspec.Struct):
    file: Text
    line: Line
    end_line: Line | None = None
    column: Line | None = None
    end_column: Line | None = None
    function: str | None = None
    module: str | None = None
    expression: str | None = None


class _Label(msgspec.Struct):
    operand: str
    reading: str


class _Evidence(msgspec.Struct):
    claim: str
    value: Real | None
    step: Step | None
    location: _Span | None
    series: list[Real] | None
    label: _Label | None = None


class _Trial(msgspec.Struct):
    verdict: Verdict
    steps: Count
    before: dict[str, Real]
    after: dict[str, Real]
    summary: str = ""
    with_it: str = ""
    without_it: str = ""
    healthy_change: Real | None = None
    before_losses: list[Real] | None = None
    after_losses: list[Real] | None = None


class _Fix(msgspec.Struct):
    title: str
    diff: str
    safety: Safety
    trial: _Trial
    command: list[str] = []
    environment: list[str] = []
    hides: bool = False


class _Sample(msgspec.Struct):
    position: int
    dataset_index: int | None = None
    rows_of: str | None = None
    more: Count = 0


class _Position(msgspec.Struct):
    epoch: int
    batch: int
    first_batch: int | None = None


class _Finding(msgspec.Struct):
    id: str
    detector: str
    severity: Severity
    certainty: Certainty
    step: Step | None
    rank: Count
    message: str
    location: _Span | None
    sample: _Sample | None
    evidence: list[_Evidence]
    explains: list[str]
    fixes: list[_Fix]
    facts: dict[str, Any] = {}
    scope: Scope = "training"
    effect: Effect | msgspec.UnsetType = msgspec.UNSET  # Older reports have none.
    symptom_location: _Span | None = None
    headline: str = ""
    position: _Position | None = None


class _Check(msgspec.Struct):
    question: str
    words: str
    answer: Answer
    facts: dict[str, Any]
    reason: str | None
    blind: bool
    causes: list[str]
    text: str | None = None


class _Cost(msgspec.Struct):
    own_seconds: float
    seconds: float


class _Kept(msgspec.Struct):
    step: Step
    state: Text | None
    load: list[str]
    batch: Text | None
    unkept: list[str]
    remarks: list[str] = []


class _Skipped(msgspec.Struct):
    step: Step
    rows: list[int]
    bad_rows: list[int]


class _Silenced(msgspec.Struct):
    detector: str
    severity: Severity
    location: _Span | None
    by: Literal["option", "comment"]


class _FailedRanks(msgspec.Struct):
    first: Count
    followed: Count
    ranks: Count
    host: Text = ""


class ReportFile(msgspec.Struct):
    """The whole of report.json."""

    schema: Literal[1]
    command: list[str]
    steps: Count
    findings: list[_Finding]
    notes: list[str] = []
    trial_notes: list[str] = []
    unseen: list[str] = []
    checks: list[_Check] = []
    cost: _Cost | None = None
    kept: _Kept | None = None
    skipped: list[_Skipped] = []
    silenced: list[_Silenced] = []
    failed_ranks: _FailedRanks | None = None
    outcome: Literal["healthy", "suspect", "failed"] | msgspec.UnsetType = msgspec.UNSET
    root_cause: str | None = None


def check_report(facts: Mapping[str, Any]) -> None:
    """Raise `ValueError` if the data is no report; fields that this version does not know are ignored."""
    report = msgspec.convert(facts, ReportFile)
    for numbers in _curves(report):
        for one in numbers:
            float(one)
    _check_chains({one.id: one.explains for one in report.findings})


def _curves(report: ReportFile) -> Iterator[Iterable[Real]]:
    for finding in report.findings:
        yield from (evidence.series or () for evidence in finding.evidence)
        for fix in finding.fixes:
            trial = fix.trial
            yield from (trial.before.values(), trial.after.values())
            yield from (trial.before_losses or (), trial.after_losses or ())


def _check_chains(explains: Mapping[str, Sequence[str]]) -> None:
    """Raise `ValueError` for findings that explain each other in so many ways that nobody could list them."""
    left = MOST_FINDINGS

    def follow(name: str, above: tuple[str, ...]) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise ValueError("its findings explain each other in too many ways")
        for consequence in explains[name]:
            if consequence not in above:
                follow(consequence, (*above, consequence))

    for name in explains:
        follow(name, (name,))
