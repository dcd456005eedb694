"""Which value came from which: the questions that the story asks of the recorded births."""

from __future__ import annotations

from torchwhy.finding import Finding
from torchwhy.record.events import REFUSED, Birth
from torchwhy.record.trace import Trace

SEVERITIES = ("error", "warning", "note")
BEFORE_BACKWARD = ("data", "forward")
LAST = float("inf")

Position = tuple[float, float]


class Ancestry:
    """The births of one run, by number, with all that each of them descends from."""

    def __init__(self, trace: Trace) -> None:
        looked_at = trace.rerun if trace.rerun is not None and trace.rerun.of(Birth) else trace
        self._births = {birth.id: birth for birth in looked_at.of(Birth)}
        self._known: dict[int, frozenset[int]] = {}

    def of(self, number: int) -> frozenset[int]:
        """Return every birth that this one descends from: parents, and what its forward operation had made."""
        if number not in self._known:
            found: set[int] = set()
            waiting = self._directly_above(number)
            while waiting:
                above = waiting.pop()
                if above not in found and above != number:
                    found.add(above)
                    waiting += self._directly_above(above)
            self._known[number] = frozenset(found)
        return self._known[number]

    def _directly_above(self, number: int) -> list[int]:
        birth = self._births.get(number)
        if birth is None:
            return []
        return [*birth.parents, *(birth.forward.births if birth.forward else [])]

    def births_of(self, finding: Finding) -> list[Birth]:
        """Return the recorded births that a finding names."""
        return [self._births[number] for number in finding.births if number in self._births]

    def position(self, finding: Finding) -> Position:
        """Return step and order of the finding's first birth: what happened first is smallest."""
        births = self.births_of(finding)
        if births:
            return min((float(birth.step), float(birth.order)) for birth in births)
        return (LAST if finding.step is None else float(finding.step), LAST)

    def rank(self, finding: Finding) -> tuple[int, bool, Position, bool]:
        """Return the place among independent findings: severity, harm to training, time, and sources first."""
        births = self.births_of(finding)
        harmless = bool(births) and not any(spoils_training(birth) for birth in births)
        source = any(birth.kind == "source" and "loss" in birth.reaches for birth in births)
        return SEVERITIES.index(finding.severity), harmless, self.position(finding), not source

    def spoiled_the_loss_of(self, finding: Finding, other: Finding) -> bool:
        """Tell whether `finding` is the work of a backward pass that began with a loss which `other` had spoiled.

        Only NaN made out of infinities counts: a backward formula that fails on finite numbers fails by itself.
        """
        births = self.births_of(finding)
        return bool(births) and all(
            birth.phase not in BEFORE_BACKWARD
            and birth.kind == "from-infinity"
            and any(
                cause.phase in BEFORE_BACKWARD
                and cause.step == birth.step
                and "loss" in cause.reaches
                for cause in self.births_of(other)
            )
            for birth in births
        )

    def wrote_the_weights_of(self, finding: Finding, other: Finding) -> bool:
        """Tell whether `finding` is about weights that were bad at the start, after `other` had happened."""
        births = self.births_of(finding)
        weights = bool(births) and all(
            birth.kind == "source" and birth.origin in ("parameter", "buffer") for birth in births
        )
        if not weights or self.position(other) >= self.position(finding):
            return False
        first = min(birth.step for birth in births)
        return any(cause.step < first or cause.phase == "update" for cause in self.births_of(other))

    def was_refused(self, finding: Finding) -> bool:
        """Tell whether a value that this finding is about ended the program with an exception."""
        return any(REFUSED in birth.reaches for birth in self.births_of(finding))

    def not_before(self, finding: Finding, other: Finding) -> bool:
        """Tell whether `finding` has births of `other`, or happened after the first of them."""
        if not other.births:
            return False
        return bool(set(finding.births) & set(other.births)) or self.position(
            finding
        ) >= self.position(other)


def spoils_training(birth: Birth) -> bool:
    """Tell whether the value spoiled a loss, gradient, weight or buffer, or ended the program: more than a print."""
    return any(
        target in ("loss", REFUSED) or target.startswith(("gradient", "parameter", "buffer"))
        for target in birth.reaches
    )
