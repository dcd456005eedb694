"""The detectors of train and eval mode."""

from __future__ import annotations

import pytest

from tests.support.traces import LINE, trace
from torchwhy.detect.causes.wiring.evaluation_in_train_mode import EvaluationInTrainMode
from torchwhy.detect.causes.wiring.missing_no_grad import MissingNoGrad
from torchwhy.detect.causes.wiring.training_in_eval_mode import TrainingInEvalMode
from torchwhy.finding import SourceSpan
from torchwhy.record.events import Step
from torchwhy.record.learning import ForwardModes

EVAL_CALL = SourceSpan("train.py", 30, expression="model.eval")
LAST = 50


def mode(*, training=True, grad=True, **more):
    state = "train" if training else "eval"
    given = {
        "step": LAST,
        "path": "model",
        "count": 20,
        "backwards": 0,
        "first_step": 10,
        "last_step": LAST,
        "steps": 5,
        "mode_layers": [f"1 Dropout(p=0.5) {state}"],
        "location": LINE,
    }
    return ForwardModes(training=training, grad=grad, **{**given, **more})


TRAINS = mode(backwards=49, first_step=1, last_step=LAST - 1, steps=49)


def test_forward_in_train_mode_that_feeds_nothing_is_reported():
    (finding,) = EvaluationInTrainMode().scan(trace(TRAINS, mode(grad=False)))

    assert finding.severity == "warning"
    assert finding.location == LINE
    assert "Dropout(p=0.5) in `model.1`" in finding.message


@pytest.mark.parametrize(
    "facts",
    [
        {"last_step": LAST - 1},
        {"discarded": True},
        {"mode_layers": []},
        {"mode_layers": ["1 Dropout(p=0.5) eval"]},
        {"path": "teacher"},
        {"backwards": 3},
    ],
    ids=[
        "feeds the next step",
        "refreshes statistics",
        "no layers",
        "layers in eval",
        "other model",
        "trains",
    ],
)
def test_forward_without_gradients_for_a_reason_is_not_reported(facts):
    assert list(EvaluationInTrainMode().scan(trace(TRAINS, mode(grad=False, **facts)))) == []


@pytest.mark.parametrize("facts", [{"repeats": 19}, {"switched": "train", "freshly": True}])
def test_dropout_left_on_by_intention_is_a_note(facts):
    (finding,) = EvaluationInTrainMode().scan(trace(TRAINS, mode(grad=False, **facts)))

    assert finding.severity == "note"


def test_samples_drawn_in_a_game_of_two_networks_are_a_note():
    steps = [Step(step=n, optimizer=n % 2, losses=[1.0], milliseconds=1.0) for n in range(20)]

    (finding,) = EvaluationInTrainMode().scan(trace(TRAINS, mode(grad=False), *steps))

    assert finding.severity == "note"


EVALUATION = mode(
    training=False,
    grad=False,
    first_step=20,
    last_step=LAST,
    switched="eval",
    switched_at=EVAL_CALL,
)
TRAINED_BEFORE = mode(backwards=20, first_step=1, last_step=19)


def in_eval_mode(**facts):
    given = {"backwards": 30, "first_step": 20, "steps": 30, "switched": "eval"}
    return mode(training=False, switched_at=EVAL_CALL, **{**given, **facts})


def test_training_that_goes_on_in_eval_mode_is_reported_at_the_eval_call():
    (finding,) = TrainingInEvalMode().scan(trace(TRAINED_BEFORE, EVALUATION, in_eval_mode()))

    assert finding.location == EVAL_CALL
    assert finding.step == 20


def test_switch_without_an_evaluation_is_a_note():
    (finding,) = TrainingInEvalMode().scan(trace(TRAINED_BEFORE, in_eval_mode()))

    assert finding.severity == "note"


@pytest.mark.parametrize(
    "events",
    [
        [in_eval_mode()],
        [TRAINS, EVALUATION, in_eval_mode()],
        [TRAINED_BEFORE, EVALUATION, in_eval_mode(steps=1)],
        [TRAINED_BEFORE, EVALUATION, in_eval_mode(mode_layers=[])],
    ],
    ids=["eval from the start", "came back", "no steps", "no layers"],
)
def test_backward_in_eval_mode_for_a_reason_is_not_reported(events):
    assert list(TrainingInEvalMode().scan(trace(*events))) == []


def test_evaluation_with_gradients_is_a_note():
    (finding,) = MissingNoGrad().scan(trace(TRAINS, mode(training=False)))

    assert finding.severity == "note"


def test_evaluation_without_gradients_is_not_reported():
    assert list(MissingNoGrad().scan(trace(TRAINS, EVALUATION))) == []
