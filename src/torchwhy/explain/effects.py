"""What the user sees of a root cause, from facts of the trace: the words of the headline derive from it."""

from __future__ import annotations

import math

from torchwhy.detect.registry import all_detectors
from torchwhy.detect.views.training.training import Training, trainings
from torchwhy.finding import Effect, Finding
from torchwhy.record.events import Alarm
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

READ = ("evaluation", "value")  # What the alarm is about if no training step was bad.


def effect_of(finding: Finding, trace: Trace) -> Effect:
    """Return what a finding and its consequences did to the run."""
    if finding.scope == "lost-batches":
        return "lost-batches"
    alarm = next((one for one in trace.alarms if one.what not in READ), None)
    if alarm is None and finding.scope == "evaluation":
        return _computed(trace)
    if _ended_by_exception(finding) and not (alarm is not None and _has_births(finding)):
        return "exception"
    if alarm is not None:
        return "training-broke"
    return _harm(finding, trace)


def _harm(finding: Finding, trace: Trace) -> Effect:
    """Return what a cause did that spoiled no value and raised no exception."""
    detector = all_detectors().get(finding.detector)
    symptom = detector.shows_as() if detector is not None else "other"
    if symptom == "memory":
        return "memory-grows"
    if symptom == "evaluation":
        return "evaluation-wrong"
    every = list(trainings(trace))
    if any(training.stays_grown for training in every):
        return "loss-grew"
    judged = [training for training in every if training.is_judged]
    during = [one for one in judged if _is_during(finding, one)] or judged
    if during and all(training.never_learnt for training in during):
        return "loss-never-falls"
    return "fault"


def _is_during(finding: Finding, training: Training) -> bool:
    """Tell whether a finding belongs to the steps of one optimizer, among several phases."""
    return finding.step is not None and (
        training.losses[0][0] <= finding.step <= training.losses[-1][0]
    )


def _computed(trace: Trace) -> Effect:
    """Return which value the program computed outside of training: NaN or an infinity."""
    is_nan = any(math.isnan(value) for alarm in trace.alarms for value in _values(alarm))
    if trace.steps:
        return "nan-in-evaluation" if is_nan else "infinity-in-evaluation"
    return "nan-computed" if is_nan else "infinity-computed"


def _values(alarm: Alarm) -> list[float]:
    return [decode(loss) for loss in alarm.losses]


def _ended_by_exception(finding: Finding) -> bool:
    """Tell whether a finding, or one that it explains, is an exception."""
    return finding.crash is not None or any(map(_ended_by_exception, finding.explains))


def _has_births(finding: Finding) -> bool:
    return bool(finding.births) or any(map(_has_births, finding.explains))
