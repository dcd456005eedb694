"""The base class of all causes: a name, and a pure function from a trace to findings.

The manual page of a cause is the Markdown file beside its module. The tests run the programs of the page: Broken must
have the line that ends in `# <- name` as root cause, Repaired and Lookalike must have no finding.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from torchwhy.detect.checks.asked_question import StandingQuestion
from torchwhy.detect.checks.recorded_facts import Need
from torchwhy.detect.checks.standing_questions import question_of_family
from torchwhy.detect.manuals.page import Manual, Program, manual_of
from torchwhy.detect.manuals.symptoms import Symptom, symptom_of_family
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import (
    Account,
    Certainty,
    Evidence,
    Finding,
    Fix,
    Sample,
    Severity,
    SourceSpan,
    advice_of,
)
from torchwhy.record.events import Recorded
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class Detector(ABC):
    """One cause. Subclasses live one per file in causes/<family>/, where the registry finds them."""

    name: ClassVar[str]
    symptom: ClassVar[Symptom | None] = None  # Set if it differs from that of the family.
    question: ClassVar[StandingQuestion | None] = None  # The same.
    needs: ClassVar[tuple[Need, ...]] = ()  # Recorded facts beyond those that its question needs.
    # True if `scan` reads one observation and runs on each of them (`detect/each_observation.py`). A cause that reads
    # the whole run must not do so: in a later observation it would miss the facts of the earlier optimizers.
    every_observation: ClassVar[bool] = False
    only_in_check: ClassVar[bool] = False  # Only an experiment of `torchwhy check` shows it.
    # What must be recorded in full, because `scan` concludes from the absence of some: see `LeftOut`.
    needs_all: ClassVar[tuple[Recorded, ...]] = ()
    # Diagnoses that no longer run can withdraw: `scan` draws them from events that are recorded once and from nothing
    # that happens later. They are told while the program runs. Judgements of how a run went must not be here.
    settled: ClassVar[tuple[type[Diagnosis], ...]] = ()

    @abstractmethod
    def scan(self, trace: Trace) -> Iterator[Finding]:
        """Yield the findings of this cause in a trace."""

    def compare(self, traces: Sequence[Trace]) -> Iterator[Finding]:  # noqa: ARG002 (for subclasses)
        """Yield what only the traces of several ranks together show; called for runs that have several."""
        yield from ()

    def found(
        self,
        trace: Trace,
        diagnosis: Diagnosis,
        *,
        severity: Severity,
        step: int | None,
        location: SourceSpan | None = None,
        evidence: Iterable[Evidence] = (),
        fixes: Iterable[Fix] = (),
        certainty: Certainty = "observed",
        sample: Sample | None = None,
        births: tuple[int, ...] = (),
        account: Account | None = None,
        symptom_at: SourceSpan | None = None,
    ) -> Finding:
        """Return a finding of this cause; evidence and advice of the diagnosis come before those passed here.

        `location` is the line that one would change, `symptom_at` the one where the fault shows if it is another.
        """
        return Finding(
            detector=self.name,
            severity=severity,
            diagnosis=diagnosis,
            step=step,
            rank=trace.rank,
            location=location,
            evidence=(*diagnosis.evidence(), *evidence),
            certainty=certainty,
            sample=sample,
            fixes=(*advice_of(diagnosis), *fixes),
            births=births,
            account=account,
            symptom_at=symptom_at,
        )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:  # noqa: ARG002 (for subclasses)
        """Yield changes to the file at the finding's location that may cure it, the likeliest first.

        A trial runs each change before the report calls it a cure, so a good guess is welcome. Leave out an edit that
        cannot be placed safely.
        """
        yield from ()

    def is_settled(self, diagnosis: Diagnosis) -> bool:
        """Tell whether a diagnosis in the trace of a running program stays, however the run goes on."""
        return isinstance(diagnosis, self.settled)

    @classmethod
    def shows_as(cls) -> Symptom:
        """Return the symptom under which `torchwhy explain` lists this cause."""
        return cls.symptom or symptom_of_family(cls.__module__)

    @classmethod
    def answers(cls) -> StandingQuestion:
        """Return the question that this cause answers with no."""
        return cls.question or question_of_family(cls.__module__)

    @classmethod
    def manual(cls) -> Manual:
        """Return the manual page."""
        return manual_of(cls)

    @classmethod
    def programs(cls) -> list[Program]:
        """Return the programs of the manual page, in order; a section may hold several, each in its own code fence."""
        return cls.manual().programs()
