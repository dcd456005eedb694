"""The experiment with one changed sample runs where there is reason to, and only there."""

from __future__ import annotations

from tests.guest.pairs import Pairs
from torchwhy.record.learning import SAMPLES_QUESTION, Experiment


def test_a_model_with_a_layer_that_takes_time_first_is_tried(pairs: Pairs) -> None:
    watched = pairs.run("samples_tried", watched=True)

    (asked,) = [
        event
        for event in watched.events
        if isinstance(event, Experiment) and event.question == SAMPLES_QUESTION
    ]

    assert asked.answer["moved"] == 5
    assert asked.answer["layer"] == "model.rnn"
    assert asked.places["made"].expression == "nn.LSTM(5, 8, dropout=0.3, num_layers=2)"


def test_a_model_without_such_a_layer_is_not_called_again(pairs: Pairs) -> None:
    watched = pairs.run("transformer", watched=True)

    answers = [
        event.answer
        for event in watched.events
        if isinstance(event, Experiment) and event.question == SAMPLES_QUESTION
    ]
    assert answers == [{"may mix": False}]  # no layer of it could mix samples, so nothing was tried
