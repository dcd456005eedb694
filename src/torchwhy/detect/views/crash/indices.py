"""Out-of-range indices in a crash: how many, which values, which samples, and whether they count from 1."""

from __future__ import annotations

from torchwhy.finding import Evidence, Sample
from torchwhy.plain_data import dataclass
from torchwhy.record.events import Crash

MOST_NAMED = 5
FAR = 3  # Labels counted from 1, or a head that is too small, lie within this many times the number of classes.


@dataclass(frozen=True)
class BadIndices:
    """The labels or indices of the failing call that are out of range; `size` is the number of classes or rows."""

    size: int
    count: int
    bad: int
    minimum: int
    maximum: int
    positions: tuple[int, ...]
    values: tuple[int, ...]

    @property
    def last(self) -> int:
        """Return the largest index that is allowed."""
        return self.size - 1

    @property
    def counts_from_one(self) -> bool:
        """Tell whether the labels run from exactly 1 to the number of classes."""
        return self.minimum == 1 and self.maximum == self.size

    @property
    def void(self) -> int | None:
        """Return the single label far above all classes, such as 255 in masks, which marks pixels without a class."""
        if len(self.values) != 1 or self.values[0] < FAR * self.size:
            return None
        return self.values[0]

    def words(self, noun: str) -> str:
        """Return `the label 5` or `labels out of range (5, 6)`."""
        plural = {"label": "labels", "index": "indices"}[noun]
        if len(self.values) == 1:
            return f"the {noun} {self.values[0]}"
        return f"{plural} out of range ({', '.join(map(str, self.values[:MOST_NAMED]))})"

    def dataset_index(self, crash: Crash) -> int | None:
        """Return the row of the first bad sample in the dataset."""
        indices = crash.loader.indices if crash.loader is not None else []
        first = self.positions[0] if self.positions else -1
        return indices[first] if 0 <= first < len(indices) else None

    def sample(self, crash: Crash) -> Sample | None:
        """Return the first bad sample."""
        if not self.positions:
            return None
        return Sample(self.positions[0], self.dataset_index(crash))

    def evidence(self, crash: Crash) -> list[Evidence]:
        """Return how many indices are out of range, where, and the whole range."""
        row = self.dataset_index(crash)
        dataset = f" (row {row} of the dataset)" if row is not None else ""
        where = f", first in sample {self.positions[0]}{dataset}" if self.positions else ""
        return [
            Evidence(f"{self.bad} of {self.count} are out of range{where}", value=float(self.bad)),
            Evidence(
                f"they range from {self.minimum} to {self.maximum}; 0 to {self.last} is allowed"
            ),
        ]


def bad_indices(crash: Crash) -> BadIndices | None:
    """Return the out-of-range indices; None if the crash recorded none."""
    facts = crash.facts
    positions, values = facts.get("range_positions"), facts.get("range_values")
    numbers = [
        facts.get(f"range_{name}") for name in ("size", "count", "bad", "minimum", "maximum")
    ]
    if (
        not isinstance(values, list)
        or not values
        or not all(isinstance(number, float) for number in numbers)
    ):
        return None
    size, count, bad, minimum, maximum = (
        int(number) for number in numbers if isinstance(number, float)
    )
    found = tuple(positions) if isinstance(positions, list) else ()
    return BadIndices(size, count, bad, minimum, maximum, found, tuple(values))
