"""A jump of the loss from which a run that was learning did not recover."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from torchwhy.detect.views.training.history import total_size
from torchwhy.detect.views.training.training import Training, is_lower, ranks_lower

FATAL = 1e4  # loss over the largest of the steps before it: no batch of the same kind does that
FEWEST_BEFORE = 5  # steps that must have gone well before
MOVED = 1.5  # growth of all weights together, below which they are as they were
LEVEL = 5.0  # largest of ten losses over their median; batches of a few samples each reach 4
JUMP = 10.0  # loss over the median of the steps before it
STAYS = (
    5.0  # level after the jump over the level before it: what came back this far did not recover
)
WINDOW = 10  # steps whose median is the level before
AFTER = 20  # steps that a loss is given to come back
UNLIKE = 4.0  # deviations between the ranks before and after: ten losses below twenty reach 4.4
ROSE_ON = 2.0  # end of the run over the jump: what one batch has wrecked costs no more than that batch did
EDGE = 40  # of so many losses after the jump, the lowest and the highest are not like the others
OFTEN = 2  # earlier jumps of the same height
LEARNT = 0.7  # share of the first loss below which a run was learning


def jumps(training: Training) -> Iterator[int]:
    """Yield the places where the loss of a run that was learning jumped tenfold in a step."""
    values = training.values
    if not training.is_judged:
        return
    for place in range(WINDOW, len(values) - AFTER):
        before = median(values[place - WINDOW : place])
        if 0 < JUMP * before <= values[place] and before <= LEARNT * values[0]:
            yield place


WORTH_TELLING = (
    0.05  # of the loss the run began with: below, nineteen parts in twenty are still learned
)


def unrecovered_spike(training: Training) -> int | None:
    """Return the place of the first jump that the run did not recover from."""
    values = training.values
    earlier: list[float] = []
    for place in jumps(training):
        as_high = sum(2 * value >= values[place] for value in earlier)
        earlier.append(values[place])
        if as_high >= OFTEN:
            continue  # some samples cost as much each time: those of a rare class, in batches of one
        before = median(values[place - WINDOW : place])
        later = values[place + 1 :]
        half = len(later) // 2
        end = median(values[-AFTER:])
        if min(median(later[half:]), end) < STAYS * before:
            continue
        if end > ROSE_ON * values[place]:
            continue  # it grew on, through another stage of the run or by diverging: not the work of this step
        if ranks_lower(values[place - WINDOW : place], than=later) < UNLIKE:
            continue  # losses that go up and down like this all the time
        if end < WORTH_TELLING * median(values[:WINDOW]):
            continue  # what was learned is still there: a jump from nothing to next to nothing
        if end > values[0] or not is_lower(later[half:], than=later[:half]):
            return place
    return None


def goes_on_level(training: Training, place: int) -> bool:
    """Tell whether the jump is one of the losses after it like any other, and those neither fall nor rise.

    A batch that wrecks the weights costs far more than what follows it, and what follows is learnt down or grows.
    """
    jump, later = training.values[place], sorted(training.values[place + 1 :])
    edge = len(later) // EDGE
    if not later[edge] <= jump <= later[-1 - edge]:
        return False
    half = len(later) // 2
    first, second = training.values[place + 1 :][:half], training.values[place + 1 :][half:]
    return abs(ranks_lower(second, than=first)) < UNLIKE


def fatal_jump(training: Training) -> int | None:
    """Return the place of a loss that left all measure in one step, by weights that had not moved until then."""
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
    """Tell whether the losses before a place did not grow: a rate that is too high makes them grow step by step."""
    before = values[max(0, place - WINDOW) : place]
    return len(before) == WINDOW and max(before) <= LEVEL * median(before)


def steady_rate(training: Training, place: int) -> bool:
    """Tell whether the rate at the jump was one that had served the run before."""
    used = max(training.rate_at(step) for step, _ in training.losses[: max(1, place // 2)])
    return training.rate_at(training.losses[place][0]) <= used
