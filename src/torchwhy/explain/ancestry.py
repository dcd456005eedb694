"""Which bad value came from which: queries on the recorded births."""

from __future__ import annotations

from torchwhy.finding import Finding
from torchwhy.record.events import REFUSED, Birth
from torchwhy.record.trace import Trace

SEVERITIES = ("error", "warning", "note")
BEFORE_BACKWARD = ("data", "forward")
LAST = float("inf")

Position = tuple[float, float]


class Ancestry:
    """The births of one run by number, and the births that each of them descends from."""

    def __init__(self, trace: Trace) -> None:
        source = trace.rerun if trace.rerun is not None and trace.rerun.of(Birth) else trace
        self._births = {birth.id: birth for birth in source.of(Birth)}
        self._ancestors: dict[int, frozenset[int]] = {}

    def of(self, number: int) -> frozenset[int]:
        """Return every birth that this one descends from: its parents, and the births of its forward operation."""
        if number not in self._ancestors:
            found: set[int] = set()
            waiting = self._directly_above(number)
            while waiting:
                above = waiting.pop()
                if above not in found and above != number:
                    found.add(above)
                    waiting += self._directly_above(above)
            self._ancestors[number] = frozenset(found)
        return self._ancestors[number]

    def _directly_above(self, number: int) -> list[int]:
        birth = self._births.get(number)
        if birth is None:
            return []
        return [*birth.parents, *(birth.forward.births if birth.forward else [])]

    def births_of(self, finding: Finding) -> list[Birth]:
        """Return the recorded births that a finding names."""
        return [self._births[number] for number in finding.births if number in self._births]

    def position(self, finding: Finding) -> Position:
        """Return step and order of the finding's first birth, which sorts findings by time."""
        births = self.births_of(finding)
        if births:
            return min((float(birth.step), float(birth.order)) for birth in births)
        return (LAST if finding.step is None else float(finding.step), LAST)

    def rank(self, finding: Finding) -> tuple[int, bool, Position, bool]:
        """Return the sort key of independent findings: by severity, harm to training, and time, sources first."""
        births = self.births_of(finding)
        harmless = bool(births) and not any(spoils_training(birth) for birth in births)
        source = any(birth.kind == "source" and "loss" in birth.reaches for birth in births)
        return SEVERITIES.index(finding.severity), harmless, self.position(finding), not source

    def spoiled_the_loss_of(self, finding: Finding, other: Finding) -> bool:
        """Tell whether `finding` arose in the backward pass of a loss that `other` had already spoiled.

        Only NaN made from infinities counts: a backward formula that fails on finite numbers is its own cause.
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
        """Tell whether `finding` is about weights that were bad before their step, and `other` happened earlier."""
        births = self.births_of(finding)
        weights = bool(births) and all(
            birth.kind == "source" and birth.origin in ("parameter", "buffer") for birth in births
        )
        if not weights or self.position(other) >= self.position(finding):
            return False
        first = min(birth.step for birth in births)
        return any(cause.step < first or cause.phase == "update" for cause in self.births_of(other))

    def was_refused(self, finding: Finding) -> bool:
        """Tell whether a bad value of this finding made the program raise an exception."""
        return any(REFUSED in birth.reaches for birth in self.births_of(finding))

    def not_before(self, finding: Finding, other: Finding) -> bool:
        """Tell whether `finding` shares births with `other` or did not happen before it."""
        if not other.births:
            return False
        return bool(set(finding.births) & set(other.births)) or self.position(
            finding
        ) >= self.position(other)


def spoils_training(birth: Birth) -> bool:
    """Tell whether the value reached a loss, gradient, weight or buffer, or made the program raise an exception."""
    return any(
        target in ("loss", REFUSED) or target.startswith(("gradient", "parameter", "buffer"))
        for target in birth.reaches
    )
