from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Literal

from torchwhy.detect.base import Detector
from torchwhy.detect.registry import all_detectors
from torchwhy.detect.views.nonfinite.attempts import what_was_tried, why_not_repeated
from torchwhy.detect.views.nonfinite.birth_facts import common_evidence, severity_of
from torchwhy.detect.views.nonfinite.origins import Spoiled, expression_of, where_it_went, word
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, SourceSpan
from torchwhy.record.events import Alarm, Birth
from torchwhy.record.numbers import Real
from torchwhy.record.trace import Trace

FAMILIES = (".numerics.", ".machines.")
NAMES_SHOWN = 3


class Unexplained(Diagnosis):
    """A non-finite value has no known cause."""

    advice = (
        "look for code that writes into tensors without torch: NumPy views, extensions, `.data_ptr()`, "
        "other threads; please report the program if it is none of these"
    )


class UnknownOperation(Unexplained):
    """An operation produced the value or brought it in, for none of the known reasons."""

    expression: str
    how: Literal["produced", "brought in"]
    value: Real
    went_into: Spoiled
    operation: str
    phase: str
    step: int
    message = "{expression} {how} {what}, which reached {went_into}; no cause that torchwhy knows explains it"

    @property
    def what(self) -> str:
        return word(self.value)

    def evidence(self) -> Iterator[Evidence]:
        claim = f"first seen in {self.operation}, during {self.phase}"
        yield Evidence(claim, value=self.value, step=self.step)


class FromAnotherRank(Diagnosis):
    """A collective brought the value from another rank, whose own recording does not show where it began."""

    value: Real
    went_into: Spoiled
    message = "a collective brought {what} from another rank, which reached {went_into}; that rank shows no origin"
    advice = "look at the other ranks: the report names the first cause that any of them recorded"

    @property
    def what(self) -> str:
        return word(self.value)


class MadeUnseen(Unexplained):
    """No watched operation produced the value; `written_at` is the last one that wrote there."""

    tensor: str
    names: list[str]
    step: int
    written_at: SourceSpan | None
    written_step: int | None
    message = "the {tensor}{which} was not finite at step {step}, but no watched torch operation produced the value"

    @property
    def which(self) -> str:
        return f" ({', '.join(self.names)})" if self.names else ""

    def evidence(self) -> Iterator[Evidence]:
        if self.written_at is not None:
            claim = "this is the last torch operation that wrote there, and it wrote finite values"
            yield Evidence(claim, step=self.written_step, location=self.written_at)


class NotRepeated(Diagnosis):
    """The step that failed could not be repeated, so no operation of it was watched."""

    tensor: str
    names: list[str]
    step: int
    why: str
    message = "the {tensor}{which} was not finite at step {step}, and torchwhy has not seen where it began: {why}"
    advice = (
        "let torchwhy run the program a second time up to that step: `torchwhy run --rerun-limit SECONDS` allows a "
        "long one"
    )

    @property
    def which(self) -> str:
        return f" ({', '.join(self.names)})" if self.names else ""


class UnexplainedNonfinite(Detector):
    """A NaN or infinity appeared, and no known cause explains it."""

    name = "unexplained-nonfinite"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        alarm = next(iter(trace.alarms), None)
        birth = next((birth for birth in trace.births if _spoils_training(birth)), None)
        if (alarm is None and birth is None) or self._others_explain(trace):
            return
        if alarm is not None and alarm.untrained and birth is None:
            yield from (self._unknown_operation(trace, one) for one in trace.births[:1])
        elif birth is not None and (alarm is None or not _written_without_torch(birth)):
            yield self._unknown_operation(trace, birth)
        elif alarm is not None:
            yield self._unseen(trace, alarm, birth)

    def _others_explain(self, trace: Trace) -> bool:
        others = (detector for name, detector in all_detectors().items() if name != self.name)
        return any(_explains_nonfinite(other, trace) for other in others)

    def _unknown_operation(self, trace: Trace, birth: Birth) -> Finding:
        diagnosis: Diagnosis = UnknownOperation(
            expression=expression_of(birth, birth.op),
            how="brought in" if birth.kind == "source" else "produced",
            value=birth.value,
            went_into=where_it_went(birth),
            operation=birth.node or birth.op,
            phase=birth.phase,
            step=birth.step,
        )
        if birth.origin == "rank":
            diagnosis = FromAnotherRank(value=birth.value, went_into=where_it_went(birth))
        return self.found(
            trace,
            diagnosis,
            severity=severity_of(trace, birth),
            step=birth.step,
            location=birth.location,
            evidence=common_evidence(trace, birth) + what_was_tried(trace, birth.step),
            births=(birth.id,),
        )

    def _unseen(self, trace: Trace, alarm: Alarm, birth: Birth | None) -> Finding:
        why = why_not_repeated(trace, alarm.step)
        diagnosis: Diagnosis = MadeUnseen(
            tensor=_what_was_bad(alarm),
            names=alarm.names[:NAMES_SHOWN],
            step=alarm.step,
            written_at=birth.location if birth is not None else None,
            written_step=birth.step if birth is not None else None,
        )
        if why is not None and birth is None:
            diagnosis = NotRepeated(
                tensor=_what_was_bad(alarm),
                names=alarm.names[:NAMES_SHOWN],
                step=alarm.step,
                why=why,
            )
        return self.found(
            trace,
            diagnosis,
            severity="error",
            step=alarm.step,
            location=alarm.location,
            evidence=what_was_tried(trace, alarm.step),
        )


def _explains_nonfinite(detector: type[Detector], trace: Trace) -> bool:
    """Tell whether a detector explains a birth, or reports an error about values rather than about a crash."""
    about_values = any(family in detector.__module__ for family in FAMILIES)
    # The pipeline reports a detector that fails. Here it explains nothing.
    with suppress(Exception):
        return any(
            finding.births or (finding.severity == "error" and about_values)
            for finding in detector().scan(trace)
        )
    return False


def _what_was_bad(alarm: Alarm) -> str:
    return "loss read in evaluation" if alarm.what == "evaluation" else alarm.what


def _spoils_training(birth: Birth) -> bool:
    return any(
        target == "loss" or target.startswith(("gradient", "parameter", "buffer"))
        for target in birth.reaches
    )


def _written_without_torch(birth: Birth) -> bool:
    """Tell whether the value appeared in memory that a torch operation had left finite."""
    return birth.kind == "source" and birth.origin in ("operation", "unknown")
