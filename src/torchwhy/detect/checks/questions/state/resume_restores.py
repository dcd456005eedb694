"""Does a resume restore everything? `torchwhy check` interrupts the program after a save and starts it again."""

from __future__ import annotations

from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.checks.recorded_facts import answered, experiment
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import SourceSpan
from torchwhy.record.trace import Trace

SLUG = "resume-restores"


class Resumed(Diagnosis):
    """What the step after a save began with in the uninterrupted run, and in one that resumed from the saved file."""

    file: str
    step: int
    weights: int
    other_weights: int
    states: int
    other_states: int
    lost_states: int
    rate: float | None
    resumed_rate: float | None
    same_random: bool
    rate_jump: list[float] | None = None  # a later rate, and the range in which it should be
    loaded_at: SourceSpan | None = None
    message = "{shown}"

    @property
    def differs(self) -> bool:
        """Tell whether training goes on from another state; a new order of the batches alone is no fault."""
        changed = self.other_weights or self.other_states or self.rate != self.resumed_rate
        return bool(changed or self.rate_jump)

    @property
    def shown(self) -> str:
        """Return what is not as it was, or that everything is."""
        if not self.differs:
            numbers = "the random numbers" if self.same_random else "not the random numbers"
            return (
                f"started again after step {self.step - 1} with `{self.file}`: weights, optimizer state and learning "
                f"rate are the same to the last bit, {numbers}"
            )
        where = "" if self.loaded_at is None else f" ({self.loaded_at})"
        begins = f"step {self.step} begins with {', '.join(self._changes())}"
        if self.rate_jump and not self._changes():
            rate, low, high = self.rate_jump
            begins = (
                f"the learning rate goes to {rate:.4g}, which it never is without the interruption "
                f"({low:.4g} to {high:.4g} after step {self.step}): the scheduler does not go on where it was"
            )
        return f"started again with `{self.file}`{where}, {begins}"

    def _changes(self) -> list[str]:
        changes = []
        if self.other_weights:
            changes.append(f"{self.other_weights} of {self.weights} parameters changed")
        if self.lost_states:
            changes.append(
                f"the optimizer state of {self.lost_states} of {self.states} parameters lost"
            )
        elif self.other_states:
            changes.append(
                f"the optimizer state of {self.other_states} of {self.states} parameters changed"
            )
        if self.rate != self.resumed_rate:
            changes.append(
                f"the learning rate {_shown(self.resumed_rate)} instead of {_shown(self.rate)}"
            )
        return changes


def _shown(rate: float | None) -> str:
    return "unknown" if rate is None else f"{rate:.4g}"


def _resumed(trace: Trace) -> Resumed | None:
    for made in answered(trace, SLUG):
        facts = made.answer
        rate, resumed_rate = facts.get("rate"), facts.get("resumed_rate")
        jump = facts.get("rate_jump")
        return Resumed(
            file=str(facts["file"]),
            step=made.step,
            **{
                name: int(float(str(facts[name])))
                for name in ("weights", "other_weights", "states", "other_states", "lost_states")
            },
            rate=None if rate is None else float(str(rate)),
            resumed_rate=None if resumed_rate is None else float(str(resumed_rate)),
            same_random=bool(facts["same_random"]),
            rate_jump=jump if isinstance(jump, list) and jump else None,
            loaded_at=made.places.get("loaded"),
        )
    return None


def _differs(trace: Trace) -> Resumed | None:
    resumed = _resumed(trace)
    return resumed if resumed is not None and resumed.differs else None


QUESTION = ask(
    SLUG,
    "Does a resume restore everything?",
    experiment(SLUG, "the program was not interrupted and started again"),
    by=_resumed,
    denied=_differs,
    in_rehearsal=True,
)
