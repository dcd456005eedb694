"""Which courses of the loss say that training depends on the seed."""

from __future__ import annotations

import random

import pytest

from tests.detect.helpers import alarm, optimizer, trace_with
from torchwhy.record.trace import Trace
from torchwhy.rehearse.seed_courses import SeedCourse, course_of, unlucky


def noisy(first: float, last: float, *, noise: float = 0.02, seed: int = 0, steps: int = 100):
    numbers = random.Random(seed)
    return [
        max(0.0, first + (last - first) * min(1.0, 2 * i / steps) + numbers.gauss(0, noise))
        for i in range(steps)
    ]


def course(losses: list[float], *events) -> SeedCourse | None:
    return course_of(trace_with(optimizer(), *events, losses=losses))


@pytest.mark.parametrize(
    ("losses", "outcome"),
    [
        (noisy(2.3, 0.4), "learnt"),
        (noisy(2.3, 2.3), "unclear"),
        (noisy(2.3, 2.1, noise=0.4), "unclear"),
    ],
)
def test_a_course_is_learnt_or_unclear(losses, outcome):
    made = course(losses)

    assert made is not None
    assert made.outcome == outcome


def test_too_few_losses_show_nothing():
    assert course(noisy(2.3, 0.4, steps=20)) is None
    assert course_of(Trace(())) is None


@pytest.mark.parametrize("stuck", [0, 1, 2])
def test_a_seed_with_which_it_does_not_learn_is_found(stuck):
    courses = [course(noisy(2.3, 2.3 if i == stuck else 0.5, seed=i)) for i in range(3)]

    assert unlucky([one for one in courses if one is not None]) == stuck


def test_a_run_that_only_began_lower_is_as_good():
    high, low = course(noisy(8.0, 1.0)), course(noisy(1.1, 1.0))
    assert high is not None
    assert low is not None

    assert unlucky([high, low]) is None


def test_a_seed_with_which_it_breaks_is_found():
    broken = course(noisy(2.3, 0.5)[:12], alarm(12))
    healthy = course(noisy(2.3, 0.5))
    assert broken is not None
    assert healthy is not None

    assert unlucky([healthy, broken]) == 1
    assert broken.broke_at == 12


@pytest.mark.parametrize("fall", [0.0, 0.05, 0.1, 0.2, 0.4])
def test_a_slow_noisy_fall_is_the_same_with_every_seed(fall):
    """Fifty programs whose loss falls a little among noise: with some seeds that is significant, with others not."""
    for program in range(50):
        every = [course(noisy(2.3, 2.3 - fall, noise=0.3, seed=3 * program + i)) for i in range(3)]
        assert unlucky([one for one in every if one is not None]) is None
