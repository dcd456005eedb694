"""Jumps of the loss that a run did not recover from."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from torchwhy.detect.views.training.history import total_size
from torchwhy.detect.views.training.training import Training, is_lower, ranks_lower

FATAL = 1e4  # Loss over the largest of the steps before it; no batch of the same kind reaches that.
FEWEST_BEFORE = 5  # At least this many steps must have gone well before.
MOVED = 1.5  # Weights that grow by less than this, all together, have not changed.
LEVEL = 5.0  # Largest of ten losses over their median; batches of a few samples reach 4.
JUMP = 10.0  # Loss over the median of the steps before it.
STAYS = 5.0  # Level after the jump over the level before it; above this, the loss did not recover.
WINDOW = 10  # The median of this many steps is the level before a jump.
AFTER = 20  # The loss gets this many steps to come back.
UNLIKE = 4.0  # Standard deviations between the ranks before and after; ten losses below twenty reach 4.4.
ROSE_ON = 2.0  # End of the run over the jump; weights that one batch destroyed cost no more than that batch.
EDGE = 40  # One loss in this many, at either end, is an outlier.
OFTEN = 2  # After this many earlier jumps of the same height, a jump is nothing new.
LEARNT = 0.7  # A run below this share of its first loss was learning.


def jumps(training: Training) -> Iterator[int]:
    """Yield the indices at which the loss of a run that was learning jumped tenfold in one step."""
    values = training.values
    if not training.is_judged:
        return
    for place in range(WINDOW, len(values) - AFTER):
        before = median(values[place - WINDOW : place])
        if 0 < JUMP * before <= values[place] and before <= LEARNT * values[0]:
            yield place


WORTH_REPORTING = 0.05  # Below this share of the first losses, 95 % of the learning survives.


def unrecovered_spike(training: Training) -> int | None:
    """Return the index of the first jump that the run did not recover from."""
    values = training.values
    earlier: list[float] = []
    for place in jumps(training):
        as_high = sum(2 * value >= values[place] for value in earlier)
        earlier.append(values[place])
        if as_high >= OFTEN:
            continue  # Some samples cost this much every time, such as a rare class in batches of one.
        before = median(values[place - WINDOW : place])
        later = values[place + 1 :]
        half = len(later) // 2
        end = median(values[-AFTER:])
        if min(median(later[half:]), end) < STAYS * before:
            continue
        if end > ROSE_ON * values[place]:
            continue  # The loss kept growing, by divergence or in a later part of the program: not by this step.
        if ranks_lower(values[place - WINDOW : place], than=later) < UNLIKE:
            continue  # These losses go up and down like this all the time.
        if end < WORTH_REPORTING * median(values[:WINDOW]):
            continue  # Almost all of the learning survives: the loss jumped from almost 0 to almost 0.
        if end > values[0] or not is_lower(later[half:], than=later[:half]):
            return place
    return None


def goes_on_level(training: Training, place: int) -> bool:
    """Tell whether the loss at the jump is like the losses after it, and those neither fall nor rise.

    A batch that destroys the weights costs far more than the batches after it, and their loss then falls or grows.
    """
    jump, later = training.values[place], sorted(training.values[place + 1 :])
    edge = len(later) // EDGE
    if not later[edge] <= jump <= later[-1 - edge]:
        return False
    half = len(later) // 2
    first, second = training.values[place + 1 :][:half], training.values[place + 1 :][half:]
    return abs(ranks_lower(second, than=first)) < UNLIKE


def fatal_jump(training: Training) -> int | None:
    """Return the index of a loss that exploded in one step while the weights had hardly changed until then."""
    values = training.values
    for place in range(FEWEST_BEFORE, len(values)):
        before = max(values[max(0, place - WINDOW) : place])
        if not 0 < FATAL * before <= values[place]:
            continue
        step = training.losses[place][0]
        sizes = [
            total_size(sample.names, sample.weight_rms, training.counts)
            for sample in training.samples
            if sample.step <= step and sample.step > step - WINDOW
        ]
        settled = sizes[-1] <= MOVED * min(sizes) if len(sizes) > 1 else _was_level(values, place)
        return place if settled and steady_rate(training, place) else None
    return None


def _was_level(values: list[float], place: int) -> bool:
    """Tell whether the losses before an index did not grow; a too high learning rate makes them grow step by step."""
    before = values[max(0, place - WINDOW) : place]
    return len(before) == WINDOW and max(before) <= LEVEL * median(before)


def steady_rate(training: Training, place: int) -> bool:
    """Tell whether the learning rate at the jump is no higher than in the first half of the steps before."""
    used = max(training.rate_at(step) for step, _ in training.losses[: max(1, place // 2)])
    return training.rate_at(training.losses[place][0]) <= used
