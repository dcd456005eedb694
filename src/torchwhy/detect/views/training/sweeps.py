"""Sweeps over settings: a setting that another one outdid is no defect of the program, only worth a note."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

from torchwhy.detect.views.nonfinite.birth_facts import show
from torchwhy.detect.views.training.training import Training, trainings
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Finding
from torchwhy.record.trace import Trace

ALIKE = 0.8  # First loss over the other's first loss; training that continues from another's end starts far below.
LEARNT = 0.7  # A loss that ends below this share of its first value shows learning.


class OutdoneBy(Diagnosis):
    """Another optimizer with other settings learnt more from the same start."""

    kind_of_optimizer: str
    settings: str
    message = "{kind_of_optimizer} with {settings}, tried from the same start, did better"


def judged_among(finding: Finding, training: Training, trace: Trace) -> Finding:
    """Return a finding about an optimizer's settings; as a note if other settings worked from the same start.

    `for lr in (1e-6, 1e-3, 0.1): train(lr)` tries bad learning rates on purpose.
    """
    if finding.severity == "note":
        return finding
    best = outdone_by(training, trace)
    if best is None:
        return finding
    other = OutdoneBy(kind_of_optimizer=best.made.kind, settings=_settings(best, training))
    return replace(finding, severity="note", reservation=other)


def _settings(best: Training, training: Training) -> str:
    """Return the learning rate, and other settings in which two optimizers of the same class differ."""
    own, made = training.made, best.made
    others = [
        f"{name}={value}"
        for name, value in made.defaults.items()
        if made.kind == own.kind and name != "lr" and value != own.defaults.get(name)
    ]
    return ", ".join([f"lr={show(best.rate)}", *others])


def outdone_by(training: Training, trace: Trace) -> Training | None:
    """Return the best of the other optimizers that started like this one and learnt more."""
    better = [other for other in trainings(trace) if _outdoes(other, training)]
    return min(better, key=lambda other: median(other.tail), default=None)


def _outdoes(other: Training, training: Training) -> bool:
    """Tell whether another optimizer with other settings learnt more, from a like start of a like model."""
    own, made = training.made, other.made
    if made.index == own.index or (made.kind, made.defaults) == (own.kind, own.defaults):
        return False
    if not (training.alone and other.alone and other.is_judged and training.losses):
        return False
    mine, theirs = training.described, other.described
    if mine is None or theirs is None or mine.shapes != theirs.shapes:
        return False
    first, start, end = training.values[0], other.values[0], median(other.tail)
    alike = start > 0 and ALIKE * start <= first <= start / ALIKE
    return alike and end <= LEARNT * start and end < median(training.tail)
