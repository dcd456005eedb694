"""When the course of a loss asks for a closer look."""

from __future__ import annotations

import random

from torchwhy.replay.triggers.loss_statistics import LossStatistics


def after(losses: list[float]) -> LossStatistics:
    statistics = LossStatistics()
    for loss in losses:
        statistics.add(loss)
    return statistics


def falls_at_each_mark(losses: list[float]) -> list[bool]:
    statistics, answers = LossStatistics(), []
    for loss in losses:
        statistics.add(loss)
        if statistics.at_mark():
            answers.append(statistics.falls())
    return answers


def test_marks_come_at_each_doubling() -> None:
    assert len(falls_at_each_mark([1.0] * 24)) == 0
    assert len(falls_at_each_mark([1.0] * 200)) == 4


def test_a_falling_loss_falls_at_every_mark() -> None:
    assert all(falls_at_each_mark([2.0 * 0.99**step for step in range(200)]))


def test_a_noisy_loss_without_trend_rests() -> None:
    noise = random.Random(0)

    assert not any(falls_at_each_mark([1.0 + noise.gauss(0, 0.1) for _ in range(400)])[1:])


def test_a_loss_that_was_learnt_may_rest() -> None:
    losses = [2.0 * 0.9**step for step in range(60)] + [0.002] * 200

    assert all(falls_at_each_mark(losses))


def test_growth_is_seen_at_once_and_early_growth_sooner() -> None:
    assert after([1.0, 12.0]).grew
    assert after([1.0, 3.0]).grew_early
    assert not after([1.0, 1.5]).grew_early
    assert not after([1.0] * 30 + [3.0]).grew_early


def test_a_loss_around_zero_never_grew() -> None:
    assert not after([-0.1, 5.0]).grew
