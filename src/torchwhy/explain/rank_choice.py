"""Many ranks → the few to judge by every cause: one of each course, the first to fail of those that fared alike."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from torchwhy.record.crashes import Crash
from torchwhy.record.numbers import is_finite
from torchwhy.record.ranks.nodes import Ranks, read_outlines, read_whole
from torchwhy.record.ranks.outline import Outline
from torchwhy.record.trace import Trace

# Ranks of one program mostly record the same. All causes take about 0.1 s for a rank with 10 000 recorded steps.
MOST_JUDGED = 32
OF_ONE_COURSE = 4


def first_failure(trace: Trace) -> tuple[float, bool, float, int]:
    """Return the sort key of ranks: by the step at which they failed, because bad gradients spread to the others.

    At the same step, a rank with a bad loss comes first: ranks share gradients, but not losses. Times do not count,
    because the clocks of several machines differ.
    """
    step = min((alarm.step for alarm in trace.alarms), default=math.inf)
    lost = any(
        alarm.what == "loss" or not all(map(is_finite, alarm.losses)) for alarm in trace.alarms
    )
    raised = min((one.step for one in trace.of(Crash) if not one.caught), default=math.inf)
    return step, not lost, raised, trace.rank


def read_chosen(ranks: Ranks) -> None:
    """Read every rank in outline, and whole those that are to be judged."""
    outlines = read_outlines(ranks)
    chosen = choose(outlines)
    whole = {one.path: read_whole(one, ranks) for one in chosen}
    ranks.judged = [trace for trace in whole.values() if trace is not None]
    ranks.everyone = [whole.get(one.path) or one.trace for one in outlines]
    if len(chosen) < len(outlines):
        courses = len({one.course for one in outlines})
        alike = "all" if courses == 1 else f"the ranks of each of {courses} groups"
        ranks.problems.append(
            f"{len(chosen)} of {len(outlines)} ranks were judged in full, because {alike} recorded the same kinds of "
            "events; of the others only the failures were read."
        )


def choose(outlines: Sequence[Outline]) -> list[Outline]:
    """Return the ranks to judge, in the order of the ranks: all if they are few, else some of each course."""
    if len(outlines) <= MOST_JUDGED:
        return list(outlines)
    groups: dict[Hashable, list[Outline]] = {}
    for outline in sorted(outlines, key=lambda one: first_failure(one.trace)):
        groups.setdefault(outline.course, []).append(outline)
    chosen: list[Outline] = []
    for place in range(OF_ONE_COURSE):
        chosen += [group[place] for group in groups.values() if place < len(group)]
    return sorted(chosen[:MOST_JUDGED], key=lambda one: one.trace.rank)
