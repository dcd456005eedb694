"""Does training succeed with other seeds, too? `torchwhy check` runs the program twice more."""

from __future__ import annotations

from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.checks.recorded_facts import answered, experiment
from torchwhy.detect.views.training.history import curve_of
from torchwhy.diagnosis import Diagnosis
from torchwhy.record.learning import Experiment
from torchwhy.record.trace import Trace

SLUG = "other-seeds"


class SeedsCompared(Diagnosis):
    """The losses with the program's own seeds, then those with others; `unlucky` is the course that failed."""

    first: list[float]
    last: list[float]
    unlucky: int | None = None
    learnt: int = 0
    broke_at: int | None = None
    message = "{shown}"

    @property
    def shown(self) -> str:
        """Return the courses in words."""
        if self.unlucky is None:
            others = " and ".join(self._course(i) for i in range(1, len(self.first)))
            return f"with other seeds the loss goes {others}, with yours {self._course(0)}"
        worse = f"it stays at {self.last[self.unlucky]:.3g}"
        if self.broke_at is not None:
            worse = f"it is not finite at step {self.broke_at}"
        return (
            f"it depends on the seed whether training succeeds: {self._whose(self.learnt)} the loss goes "
            f"{self._course(self.learnt)}, {self._whose(self.unlucky)} {worse}"
        )

    def _course(self, position: int) -> str:
        return curve_of([self.first[position], self.last[position]])

    def _whose(self, position: int) -> str:
        return "with your seed" if position == 0 else "with another"


def _compared(trace: Trace) -> SeedsCompared | None:
    made: Experiment | None = next(iter(answered(trace, SLUG)), None)
    if made is None:
        return None
    answer = made.answer
    return SeedsCompared(
        first=_numbers(answer["first"]),
        last=_numbers(answer["last"]),
        unlucky=_whole(answer.get("unlucky")),
        learnt=_whole(answer.get("learnt")) or 0,
        broke_at=_whole(answer.get("broke_at")),
    )


def _whole(value: object) -> int | None:
    return None if value is None else int(float(str(value)))


def _numbers(values: object) -> list[float]:
    return [float(one) for one in values] if isinstance(values, list) else []


def _unlucky(trace: Trace) -> SeedsCompared | None:
    compared = _compared(trace)
    return compared if compared is not None and compared.unlucky is not None else None


QUESTION = ask(
    SLUG,
    "Does it learn with other seeds, too?",
    experiment(SLUG, "the program did not run with other seeds"),
    by=_compared,
    denied=_unlucky,
    in_rehearsal=True,
)
