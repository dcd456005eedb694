"""When to look into a running program: soon at first, then ever more rarely, for a small share of its time."""

from __future__ import annotations

from torchwhy.plain_data import dataclass

FIRST_SECONDS = 10.0  # A shorter run has its report almost as soon.
SHORTEST_SECONDS = 2.0
LONGEST_SECONDS = 600.0
GROWTH = 0.25  # A run is looked at again when it is this share older.
SHARE = 0.005  # of the time that may go into looking
SECONDS_PER_BYTE = 7e-8  # of a trace: decoding and judging a megabyte takes about 70 ms


@dataclass
class LookTimes:
    """Returns how long to wait for the next look, from the age of the run and what its last look cost."""

    first: float = FIRST_SECONDS
    shortest: float = SHORTEST_SECONDS

    def too_early_by(self, age: float, size: int) -> float:
        """Return the seconds to wait until a look at traces of this size is a small share of the run's age."""
        return max(size * SECONDS_PER_BYTE / SHARE - age, 0.0)

    def until_next(self, age: float, cost: float) -> float:
        """Return the seconds to the next look; `cost` is the processor time of the last one."""
        rest = min(max(GROWTH * age, self.shortest), LONGEST_SECONDS)
        return max(rest, cost / SHARE)
