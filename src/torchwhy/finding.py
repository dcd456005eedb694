"""The nouns that all stages share: where, how sure, what proves it, what cures it, and the finding itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]
Certainty = Literal["observed", "replayed", "verified"]
Safety = Literal["safe", "changes-results", "show-only"]
Verdict = Literal["cured", "symptom-only", "no-difference", "not-run"]

# The claim by which a finding says that training itself is fine.
ONLY_IN_EVALUATION = (
    "it reached the loss that is read in evaluation; the losses of training are finite"
)


# How a finding begins to say that the program took an exception and trained on without the batch.
CAUGHT = "the program caught the exception and went on"


@dataclass(frozen=True)
class SourceSpan:
    """A stretch of the user's source: columns count from 0, `end_column` is exclusive."""

    file: str
    line: int
    end_line: int | None = None
    column: int | None = None
    end_column: int | None = None
    function: str | None = None
    module: str | None = None
    expression: str | None = None

    def __str__(self) -> str:
        """Return `train.py:41 in forward`, the way a person would say it."""
        if self.function in (None, "<module>"):
            return f"{self.file}:{self.line}"
        return f"{self.file}:{self.line} in {self.function}"


@dataclass(frozen=True)
class Sample:
    """One element of a batch, and where it lives in the dataset when the sampler told us."""

    position: int
    dataset_index: int | None = None


@dataclass(frozen=True)
class Evidence:
    """One measured fact. `series` holds the numbers of a curve, oldest first."""

    claim: str
    value: float | str | None = None
    step: int | None = None
    location: SourceSpan | None = None
    series: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Trial:
    """What happened when a fix was run.

    `symptom-only`: the failure is gone, but the model does not learn. `summary` says it in one sentence; the
    losses are the curves without and with the fix, oldest first.
    """

    verdict: Verdict = "not-run"
    steps: int = 0
    before: dict[str, float] | None = None
    after: dict[str, float] | None = None
    summary: str = ""
    before_losses: tuple[float, ...] | None = None
    after_losses: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Fix:
    """A proposed change of the user's source, as a unified diff or (diff empty) as advice in its title."""

    title: str
    diff: str = ""
    safety: Safety = "changes-results"
    trial: Trial = Trial()


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, in the program's own words and numbers.

    `births` ties the finding to the recorded births it was read from, so that `explain` can order causes
    before consequences without guessing.
    """

    detector: str
    severity: Severity
    message: str
    step: int | None = None
    rank: int = 0
    location: SourceSpan | None = None
    evidence: tuple[Evidence, ...] = ()
    certainty: Certainty = "observed"
    sample: Sample | None = None
    explains: tuple[Finding, ...] = ()
    fixes: tuple[Fix, ...] = ()
    births: tuple[int, ...] = ()
