"""The experiment of the check-up that gives a loss one output for all samples."""

from __future__ import annotations

from torchwhy.finding import SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.record.learning import Experiment
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

OUTPUTS_DIFFER = "outputs-differ"
ROUNDING = 1e-4  # Of the distance between the first loss and that of a constant output.
MOST_OF_THE_WAY = 0.5  # That training goes towards the loss of a constant output.


@dataclass(frozen=True)
class ConstantTried:
    """The loss of one output for all samples, of outputs that differ between samples only, and of training.

    `best` is the lowest loss of outputs some of which belong to the same samples and some to others.
    """

    step: int
    constant: float
    equal: float
    best: float
    start: float
    trained: float
    updates: int
    compared: int
    compares: SourceSpan | None

    @property
    def is_best(self) -> bool:
        """Tell whether nothing in the loss keeps the outputs of different samples apart, and training goes there."""
        slack = ROUNDING * abs(self.start - self.constant)
        goes_there = self.trained - self.constant <= MOST_OF_THE_WAY * (self.start - self.constant)
        return (
            self.constant < self.start
            and abs(self.equal - self.constant) <= slack
            and self.best >= self.constant - slack
            and goes_there
        )


def constant_tried(trace: Trace) -> ConstantTried | None:
    """Return what the experiment gave; None if it was not made."""
    for one in trace.of(Experiment):
        if one.question == OUTPUTS_DIFFER and "constant" in one.answer:
            return ConstantTried(
                step=one.step,
                constant=_number(one, "constant"),
                equal=_number(one, "equal"),
                best=_number(one, "best"),
                start=_number(one, "start"),
                trained=_number(one, "trained"),
                updates=int(_number(one, "updates")),
                compared=int(_number(one, "compared")),
                compares=one.places.get("compares"),
            )
    return None


def _number(experiment: Experiment, name: str) -> float:
    value = experiment.answer.get(name, 0.0)
    return decode(value) if isinstance(value, (int, float, str)) else 0.0
