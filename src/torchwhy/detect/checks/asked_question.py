"""A question with the recorded facts that answer it."""

from __future__ import annotations

from collections.abc import Callable

from torchwhy.detect.checks.recorded_facts import Need
from torchwhy.diagnosis import Diagnosis
from torchwhy.plain_data import dataclass
from torchwhy.question import Question
from torchwhy.record.trace import Trace

Measure = Callable[[Trace], Diagnosis | None]


@dataclass(frozen=True)
class StandingQuestion:
    """A question, the facts that its answer rests on, and what to measure for a yes.

    The causes that answer it name it (`Detector.question`), and may need further facts (`Detector.needs`). `denied`
    returns a recorded fact that answers no where no cause is known. `in_rehearsal` means that only an experiment of
    `torchwhy check` gives the facts: an ordinary run does not list the question.
    """

    question: Question
    needs: tuple[Need, ...]
    measure: Measure
    denied: Measure
    in_rehearsal: bool = False


def ask(
    slug: str,
    words: str,
    *needs: Need,
    by: Measure = lambda _: None,
    denied: Measure = lambda _: None,
    in_rehearsal: bool = False,
) -> StandingQuestion:
    """Return a question; `words` are a user's, so put that "yes" is good news."""
    return StandingQuestion(Question(slug, words), needs, by, denied, in_rehearsal)
