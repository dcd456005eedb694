"""What the traces of an interrupted and a resumed run amount to."""

from __future__ import annotations

from typing import Any

import pytest

from tests.detect.helpers import trace_with
from torchwhy.detect.checks.questions.state.resume_restores import QUESTION
from torchwhy.record.events import Step
from torchwhy.record.learning import Experiment
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import FileLoaded, FileSaved, StateBeforeStep
from torchwhy.rehearse.resume_runs import judge

LOSSES = [1.0, 0.9, 0.8, 0.7]
SAVED = FileSaved(step=3, path="/w/last.pt")
LOADED = FileLoaded(step=0, path="/w/last.pt")


def state(step: int, **changes: Any) -> StateBeforeStep:
    facts: dict[str, Any] = {
        "optimizer": 0,
        "weights": ["a", "b"],
        "states": ["c", "d"],
        "rates": [0.1],
        "random": "e",
    }
    return StateBeforeStep(step=step, **{**facts, **changes})


def asked(*after: Any, before: Trace | None = None, first: Trace | None = None) -> Experiment:
    interrupted = before or trace_with(SAVED, state(3), losses=LOSSES)
    resumed = trace_with(*after, losses=[0.7])
    return judge(first or trace_with(SAVED, losses=[*LOSSES, 0.6]), interrupted, resumed)


def shown(made: Experiment) -> str | None:
    denied = QUESTION.denied(trace_with(made))
    return None if denied is None else denied.sentence


def test_the_same_state_is_fine():
    made = asked(LOADED, state(0))

    assert shown(made) is None
    measured = QUESTION.measure(trace_with(made))
    assert measured is not None
    assert measured.facts()["same_random"] is True


def test_other_random_numbers_alone_are_fine():
    assert shown(asked(LOADED, state(0, random="f"))) is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"weights": ["a", "x"]}, "1 of 2 parameters changed"),
        ({"states": ["", ""]}, "the optimizer state of 2 of 2 parameters lost"),
        ({"states": ["c", "x"]}, "the optimizer state of 1 of 2 parameters changed"),
        ({"rates": [0.3]}, "the learning rate 0.3 instead of 0.1"),
    ],
)
def test_another_state_is_not_fine(changes, words):
    assert shown(asked(LOADED, state(0, **changes))) == (
        f"started again with `last.pt`, step 3 begins with {words}"
    )


ANEW = (
    "started again with `last.pt`, the learning rate goes to 0.9, which it never is without the interruption "
    "(0.1 to 0.2 after step 3): the scheduler does not go on where it was"
)


def scheduled(rates: list[float]) -> Trace:
    steps = (
        Step(step=n, optimizer=0, losses=[1.0], milliseconds=1.0, learning_rates=[rate])
        for n, rate in enumerate(rates)
    )
    return Trace(tuple(steps))


@pytest.mark.parametrize(
    ("later", "words"),
    [
        ([0.2, 0.1, 0.1], None),
        ([0.2, 0.2, 0.1], None),  # a part of the epoch comes again
        ([0.2, 0.9, 0.8], ANEW),
        ([0.2, 0.1, 0.05], None),  # after the rehearsal
    ],
)
def test_a_scheduler_that_begins_anew_is_not_fine(later, words):
    first = scheduled([0.9, 0.8, 0.7, 0.2, 0.1])
    interrupted = Trace((*first.events[:4], SAVED, state(3, rates=[0.2])))
    resumed = Trace((*scheduled(later).events, LOADED, state(0, rates=[0.2])))

    assert shown(judge(first, interrupted, resumed)) == words


WEIGHTS = FileLoaded(step=0, path="/w/best.pt", only_tensors=True)
DATA = FileLoaded(step=0, path="/w/data.pt")


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        ([state(0)], "the program never loads what it saves"),
        ([LOADED], "started again with `last.pt`, the program makes no step"),
        (
            [WEIGHTS, state(0, states=["", ""])],
            "`best.pt` holds weights alone, so the program starts a new training from them",
        ),
    ],
)
def test_what_is_no_resume_could_not_be_asked(after, reason):
    assert asked(*after).answer == {"refused": reason}


def test_data_that_both_runs_load_is_no_checkpoint():
    interrupted = trace_with(DATA, SAVED, state(3), losses=LOSSES)

    made = asked(DATA, state(0, states=["", ""]), before=interrupted)

    assert made.answer == {"refused": "the program never loads what it saves"}


def test_a_program_that_does_not_repeat_itself_could_not_be_asked():
    other = trace_with(SAVED, losses=[1.0, 0.95, 0.8, 0.7])

    made = asked(LOADED, state(0, rates=[0.3]), first=other)

    assert made.answer == {
        "refused": "the program does not repeat itself: the loss of step 1 was 0.95, then 0.9"
    }
