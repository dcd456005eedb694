"""How training went with one seed, to compare it with other seeds."""

from __future__ import annotations

from statistics import median
from typing import Literal

from torchwhy.detect.views.training.training import ERRORS, is_lower, trainings
from torchwhy.plain_data import dataclass
from torchwhy.record.trace import Trace

CLEARLY = (
    2 * ERRORS
)  # Standard errors; a fall that is just significant with one seed may miss it with another.
NOTHING = 0.1  # A loss that fell by less than this share of another's fall did not learn what that one learnt.
APART = 0.5  # Share of that fall by which it stays above: a run that merely began lower ends as low as the other.

Outcome = Literal["learnt", "broke", "unclear"]


@dataclass(frozen=True)
class SeedCourse:
    """The losses of the first steps and of the second half with one seed, and what that amounts to."""

    outcome: Outcome
    first: float
    tail: list[float]
    broke_at: int | None = None

    @property
    def last(self) -> float:
        """Return the loss of the second half."""
        return median(self.tail)

    @property
    def fall(self) -> float:
        """Return by how much the loss fell."""
        return self.first - self.last


def course_of(trace: Trace) -> SeedCourse | None:
    """Return how the longest training of a trace went; None if its losses do not measure progress."""
    longest = max(trainings(trace), key=lambda one: len(one.losses), default=None)
    if longest is None or not longest.losses:
        return None
    first, tail = median(longest.head), longest.tail
    if trace.alarms:
        return SeedCourse("broke", first, tail, trace.alarms[0].step)
    if not longest.is_judged:
        return None
    learnt = is_lower(tail, than=longest.head, errors=CLEARLY)
    return SeedCourse("learnt" if learnt else "unclear", first, tail)


def unlucky(courses: list[SeedCourse]) -> int | None:
    """Return which course failed where another one learnt; None if they agree or nothing is clear."""
    learnt = [one for one in courses if one.outcome == "learnt"]
    if not learnt:
        return None
    best = max(learnt, key=lambda one: one.fall)
    for position, course in enumerate(courses):
        if course.outcome == "broke" or _is_stuck(course, best):
            return position
    return None


def _is_stuck(course: SeedCourse, best: SeedCourse) -> bool:
    """Tell whether a loss did not fall as that of another seed did, and ended clearly above it."""
    return (
        course.fall <= NOTHING * best.fall
        and course.last - best.last >= APART * best.fall
        and is_lower(best.tail, than=course.tail, errors=CLEARLY)
    )
