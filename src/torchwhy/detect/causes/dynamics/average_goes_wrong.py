from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.state.averages_follow import QUESTION
from torchwhy.detect.views.kept.assigned_data import assigned_data
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.kept.kept_state import AverageMoved
from torchwhy.record.learning import ForwardModes
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

FEWEST_LOOKS = 2  # The first look may meet the warm-up of an average.
EXACT = 1e-2  # Error relative to the way that the copy went; a formula that leaves more is not the program's.
NEARLY_ALL = (
    0.9,
    0.99995,
)  # An average that takes this share of the newest weights is none; a copy takes all.
ENOUGH_TO_RISE = 3  # looks
MOSTLY = 0.5  # An average keeps more of itself than it takes of the newest weights.
NOTABLY = 1.05
ROUNDED = 1e-6  # Rounding of float32 weights changes this share of them.
NO_SUM = 1e-3  # By this much the factors miss 1; rounding of float32 weights gives 1e-6.


class CopyStays(Diagnosis):
    """A copy of the model is written at every step and never changes."""

    copy: str
    model: str
    writes: int
    distance: float
    message = "`{copy}` never moves: it is written at every step, and stays the same bit for bit while `{model}` trains"
    advice = "give the model a share: `copy.lerp_(parameter, 1 - decay)` with a decay below 1, from the model's tensors"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"{self.writes} writes within a step changed no value of it",
            value=float(self.writes),
        )
        yield Evidence(
            f"it differs from `{self.model}` by {self.distance:.2g} of its size",
            value=self.distance,
        )


class CopyKeepsItself(Diagnosis):
    """A copy is computed anew before every step, and up to rounding from itself alone."""

    copy: str
    model: str
    distance: float
    message = "`{copy}` never moves: every step computes it anew, from its own values, while `{model}` trains"
    advice = "take the other term from the model: `copy.lerp_(parameter, 1 - decay)`"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"it differs from `{self.model}` by {self.distance:.2g} of its size",
            value=self.distance,
        )


class FactorsExchanged(Diagnosis):
    """An average takes nearly all of the newest weights, and keeps nearly nothing of itself."""

    copy: str
    model: str
    share: float
    message = (
        "`{copy}` is no average: a step takes it {share:.4g} of the way to `{model}` "
        "and leaves {rest:.1g} of what it was"
    )
    advice = "exchange the factors: `decay * average + (1 - decay) * parameter`"

    @property
    def rest(self) -> float:
        """Return the share of the old average that is left."""
        return 1.0 - self.share

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"measured: {self.copy} = {self.rest:.2g}·{self.copy} + {self.share:.4g}·{self.model}",
            value=self.share,
        )


class SharesRise(Diagnosis):
    """An average takes more of the newest weights at every look, where a warm-up takes less."""

    copy: str
    model: str
    shares: list[float]
    message = (
        "`{copy}` becomes less of an average with every step: it goes {course} of the way to `{model}`, "
        "where the share should fall towards 1 - decay"
    )
    advice = "exchange the factors: `decay * average + (1 - decay) * parameter`"

    @property
    def course(self) -> str:
        """Return the shares, oldest first."""
        return ", then ".join(f"{one:.2g}" for one in self.shares)

    def evidence(self) -> Iterator[Evidence]:
        own, share = 1 - self.shares[-1], self.shares[-1]
        yield Evidence(
            f"measured: {self.copy} = {own:.2g}·{self.copy} + {share:.2g}·{self.model}",
            value=share,
        )


class MovesAway(Diagnosis):
    """A copy moves away from the model that it should follow."""

    copy: str
    model: str
    share: float
    message = "`{copy}` moves away from `{model}`: each step adds {amount:.2g} of the difference with the wrong sign"
    advice = "turn the sign: `average += (1 - decay) * (parameter - average)`"

    @property
    def amount(self) -> float:
        """Return the share of the difference."""
        return -self.share

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"measured: {self.copy} = {self.copy} - {self.amount:.2g}·({self.model} - {self.copy})",
            value=self.share,
        )


class FactorsMissOne(Diagnosis):
    """The factors of an average do not add up to 1, so it grows or shrinks."""

    copy: str
    model: str
    share: float
    scale: float
    message = "the factors by which `{copy}` averages `{model}` add up to {scale:.4g}, not 1: it {goes} at every step"
    advice = "use factors that add up to 1: `average.mul_(decay).add_(parameter, alpha=1 - decay)`"

    @property
    def goes(self) -> str:
        """Return whether it grows or shrinks."""
        return "grows" if self.scale > 1 else "shrinks"

    def evidence(self) -> Iterator[Evidence]:
        own = self.scale - self.share
        yield Evidence(
            f"measured: {self.copy} = {own:.4g}·{self.copy} + {self.share:.4g}·{self.model}",
            value=self.scale,
        )


class AverageGoesWrong(Detector):
    """An average of the weights, or a target network, does not follow the model."""

    name = "average-goes-wrong"
    question = QUESTION

    def scan(self, trace: Trace) -> Iterator[Finding]:
        looks: dict[str, list[AverageMoved]] = {}
        for one in trace.of(AverageMoved):
            if one.model_moved:
                looks.setdefault(one.copy, []).append(one)
        for copy, seen in looks.items():
            assigned = assigned_data(trace)
            diagnosis = None
            if len(seen) >= FEWEST_LOOKS:
                diagnosis = _judge(seen) or (_stays(seen) if assigned is not None else None)
            if diagnosis is None or not _is_used(trace, copy, seen[0]):
                continue
            place = next((one.location for one in seen if one.location is not None), assigned)
            yield self.found(
                trace, diagnosis, severity="warning", step=seen[0].step, location=place
            )


def _stays(seen: list[AverageMoved]) -> Diagnosis | None:
    """Return that a copy stays as it is although `parameter.data = …` gave it other memory before every step."""
    last = seen[-1]
    distance = decode(last.distance)
    stays = all(
        not one.changed or max(abs(decode(one.scale) - 1), abs(decode(one.share))) < ROUNDED
        for one in seen
    )
    if not stays or not all(one.rebound for one in seen) or not distance > ROUNDED:
        return None
    return CopyKeepsItself(copy=last.copy, model=last.model, distance=distance)


def _judge(seen: list[AverageMoved]) -> Diagnosis | None:
    """Return what is wrong with a copy at every look."""
    last = seen[-1]
    distance = decode(last.distance)
    if all(one.writes and not one.changed for one in seen) and distance > 0:
        return CopyStays(copy=last.copy, model=last.model, writes=last.writes, distance=distance)
    if not all(one.writes and one.changed and decode(one.error) < EXACT for one in seen):
        return None
    shares = [decode(one.share) for one in seen]
    scales = [decode(one.scale) for one in seen]
    copy, model, share = last.copy, last.model, shares[-1]
    if all(abs(scale - 1) > NO_SUM for scale in scales):
        # A sum that is divided before its use.
        is_debiased = not last.is_module or _adds_up(shares, scales)
        return (
            None
            if is_debiased
            else FactorsMissOne(copy=copy, model=model, share=share, scale=scales[-1])
        )
    if any(abs(scale - 1) > NO_SUM for scale in scales):
        return None
    if all(share < 0 for share in shares):
        return MovesAway(copy=copy, model=model, share=share)
    if all(NEARLY_ALL[0] <= share <= NEARLY_ALL[1] for share in shares):
        return FactorsExchanged(copy=copy, model=model, share=share)
    if len(shares) >= ENOUGH_TO_RISE and share > MOSTLY and _rises(shares):
        return SharesRise(copy=copy, model=model, shares=shares)
    return None


def _adds_up(shares: list[float], scales: list[float]) -> bool:
    """Tell whether a copy keeps all of itself and adds all of the newest weights."""
    return all(
        abs(share - 1) < EXACT and abs(scale - 2) < EXACT
        for share, scale in zip(shares, scales, strict=True)
    )


def _rises(shares: list[float]) -> bool:
    return all(later > NOTABLY * before for before, later in pairwise(shares))


def _is_used(trace: Trace, copy: str, seen: AverageMoved) -> bool:
    """Tell whether the program runs a copy; of tensors that are no module this is unknown."""
    if not seen.is_module:
        return True
    root = copy.partition(".")[0]
    return any(one.path.partition(".")[0] == root for one in trace.of(ForwardModes))
