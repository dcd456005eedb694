"""What ranks held before the same steps: which weights and gradients are equal, and which differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchwhy.plain_data import dataclass
from torchwhy.record.numbers import decode
from torchwhy.record.ranks.rank_events import HeldOnRank, TensorHeld
from torchwhy.record.trace import Trace

# Machines of different kinds round differently; weights that were made differently differ by far more.
LARGEST_ROUNDING = 1e-3


@dataclass(frozen=True)
class Compared:
    """One parameter on several ranks before one step."""

    name: str
    steps: int
    ranks: tuple[int, ...]
    tensors: tuple[TensorHeld, ...]
    reduced: bool  # whether every rank's wrapper was to reduce gradients

    @property
    def weights_differ(self) -> bool:
        """Tell whether the weights differ by more than rounding."""
        first = self.tensors[0]
        return any(_is_other(first, one) for one in self.tensors[1:])

    @property
    def example(self) -> tuple[tuple[int, int], tuple[float, float]]:
        """Return two ranks, and the element that differs most between them."""
        first = self.tensors[0]
        other = next(one for one in self.tensors[1:] if _is_other(first, one))
        pairs = zip(map(decode, first.weights), map(decode, other.weights), strict=False)
        found = max(pairs, key=lambda pair: abs(pair[0] - pair[1]))
        return (self.ranks[0], self.ranks[self.tensors.index(other)]), found

    @property
    def weights_equal(self) -> bool:
        """Tell whether the weights are equal to the last bit."""
        return len({one.weight for one in self.tensors}) == 1

    @property
    def gradients_equal(self) -> bool:
        """Tell whether all ranks have the same gradient."""
        return self.has_gradients and len({one.gradient for one in self.tensors}) == 1

    @property
    def gradients_differ(self) -> bool:
        """Tell whether every rank has a gradient of its own."""
        return self.has_gradients and len({one.gradient for one in self.tensors}) > 1

    @property
    def has_gradients(self) -> bool:
        """Tell whether all ranks have one."""
        return all(one.gradient for one in self.tensors)

    @property
    def is_wrapped(self) -> bool:
        """Tell whether a wrapper averages its gradient on every rank."""
        return all(one.wrapped for one in self.tensors)


def compared(traces: Sequence[Trace]) -> dict[int, dict[str, list[Compared]]]:
    """Return the parameters that all ranks hold, by optimizer and name, each step by step."""
    found: dict[int, dict[str, list[Compared]]] = {}
    looks = [{(one.optimizer, one.steps): one for one in trace.of(HeldOnRank)} for trace in traces]
    shared = set(looks[0]).intersection(*looks[1:]) if looks else set()
    ranks = tuple(trace.rank for trace in traces)
    for optimizer, steps in sorted(shared):
        each = [look[optimizer, steps] for look in looks]
        reduced = all(one.reduced for one in each)
        for name, tensors in _in_common(each):
            one = Compared(name, steps, ranks, tensors, reduced)
            found.setdefault(optimizer, {}).setdefault(name, []).append(one)
    return found


def _in_common(looks: Sequence[HeldOnRank]) -> Iterator[tuple[str, tuple[TensorHeld, ...]]]:
    tables = [{one.name: one for one in look.tensors} for look in looks]
    for name in tables[0]:
        if all(name in table for table in tables):
            yield name, tuple(table[name] for table in tables)


def _is_other(one: TensorHeld, other: TensorHeld) -> bool:
    if one.weight == other.weight:
        return False
    pairs = list(zip(map(decode, one.weights), map(decode, other.weights), strict=False))
    size = max((abs(value) for pair in pairs for value in pair), default=0.0)
    return any(abs(a - b) > LARGEST_ROUNDING * size for a, b in pairs)
