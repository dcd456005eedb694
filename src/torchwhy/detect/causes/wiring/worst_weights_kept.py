from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import KEPT_WEIGHTS
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Severity, SourceSpan
from torchwhy.record.learning import Evaluated
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import AliasLoaded, KeptLoaded

ENOUGH = 5  # evaluations
LOWER = 0.7  # The last loss lies below this share of that of the kept weights.


class WorstKept(Diagnosis):
    """The program restores the weights with the highest evaluated loss of the run."""

    taken_step: int
    value: float
    last: float
    best: float
    times: int
    curve: list[float]
    read_at: SourceSpan
    message = (
        "the weights that are restored at the end are those of step {taken_step}, whose evaluated loss of {value:.4g} "
        "is the highest of {times}; the last one is {last:.4g}"
    )
    advice = (
        "keep the weights when the loss is lower than the best one so far, which begins at infinity"
    )

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"the lowest is {self.best:.4g}",
            value=self.best,
            series=tuple(self.curve),
            location=self.read_at,
        )


class WorstWeightsKept(Detector):
    """The program keeps the weights of its worst evaluation and restores them at the end."""

    name = "worst-weights-kept"
    question = KEPT_WEIGHTS
    symptom = "evaluation"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        if trace.of(AliasLoaded):
            return
        last_step = max((one.step for one in trace.steps), default=0)
        for loaded in trace.of(KeptLoaded):
            curve = next((one for one in trace.of(Evaluated) if _is_worst(one, loaded)), None)
            if curve is None or loaded.step <= last_step or not _is_chosen(trace, loaded):
                continue
            severity = None if _is_changed(trace, curve) else _certainty(trace, curve, loaded)
            if severity is None:
                continue
            diagnosis = WorstKept(
                taken_step=loaded.taken_step,
                value=max(curve.values),
                last=curve.values[-1],
                best=min(curve.values),
                times=len(curve.values),
                curve=curve.values,
                read_at=curve.location,
            )
            yield self.found(
                trace,
                diagnosis,
                severity=severity,
                step=loaded.taken_step,
                location=loaded.taken_at,
                symptom_at=loaded.location,
            )
            return


def _is_chosen(trace: Trace, loaded: KeptLoaded) -> bool:
    """Tell whether a comparison of sizes decides whether the weights are taken; others are kept for their own sake."""
    return any(
        isinstance(part, ast.Gt | ast.GtE | ast.Lt | ast.LtE) for part in _condition(trace, loaded)
    )


def _condition(trace: Trace, loaded: KeptLoaded) -> list[ast.AST]:
    """Return the parts of the conditions under which the weights are taken."""
    place = loaded.taken_at
    source = trace.files.get(place.file) if place is not None else None
    statement = (
        source.statement_at(place.line) if source is not None and place is not None else None
    )
    if source is None or statement is None:
        return []
    conditions = [one.test for one in source.around(statement) if isinstance(one, ast.If)]
    return [part for test in conditions for part in ast.walk(test)]


def _certainty(trace: Trace, curve: Evaluated, loaded: KeptLoaded) -> Severity | None:
    """Return how sure it is that the loss decides; a model may be chosen by its accuracy, while its loss falls on."""
    source = trace.files.get(curve.location.file)
    read = source.statement_at(curve.location.line) if source is not None else None
    compared = {one.id for one in _condition(trace, loaded) if isinstance(one, ast.Name)}
    names = {
        one.id
        for target in (read.targets if isinstance(read, ast.Assign) else ())
        for one in ast.walk(target)
        if isinstance(one, ast.Name)
    }
    if names & compared:
        return "warning"
    taken = loaded.taken_at
    is_beside = taken is not None and (taken.file, taken.function) == (
        curve.location.file,
        curve.location.function,
    )
    return None if names and is_beside else "note"


def _is_changed(trace: Trace, curve: Evaluated) -> bool:
    """Tell whether the program computes with the number where it reads it, and so may compare another one."""
    source = trace.files.get(curve.location.file)
    statement = source.statement_at(curve.location.line) if source is not None else None
    return statement is None or any(isinstance(one, ast.BinOp) for one in ast.walk(statement))


def _is_worst(curve: Evaluated, loaded: KeptLoaded) -> bool:
    """Tell whether the kept weights have the highest loss, and all later losses are lower, the last one far lower.

    A model that is chosen by its accuracy may have a high loss, but not one that falls afterwards.
    """
    if len(curve.values) < ENOUGH or loaded.taken_step not in curve.steps:
        return False
    place = curve.steps.index(loaded.taken_step)
    value, later = curve.values[place], curve.values[place + 1 :]
    is_highest = value == max(curve.values) and bool(later) and max(later) < value
    return is_highest and 0 < curve.values[-1] <= LOWER * value
