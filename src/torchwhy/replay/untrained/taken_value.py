"""The uses of bad values in a program that does not train, and which of them count."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from torchwhy.plain_data import dataclass
from torchwhy.record.events import Birth, Use


@dataclass(frozen=True)
class Taken:
    """A use: in words, whether a NaN was among the values, whether all of them were bad.

    `is_computed` means that an operation made the values out of others, and not only a constant or a file.
    """

    how: str
    is_nan: bool = False
    is_whole: bool = False
    is_computed: bool = True
    is_output: bool = False  # of a model
    is_saved: bool = False

    @property
    def use(self) -> Use:
        """Return the kind of use that the record has."""
        if self.is_output:
            return "output"
        if not self.is_nan:
            return "infinity"
        if self.is_saved:
            return "saved"
        return "nan" if self.is_whole else "part"


WEIGHT: tuple[Use, ...] = ("infinity", "part", "saved", "nan", "output")  # the weightiest last


def heaviest(uses: Iterable[Use]) -> Use:
    """Return the use that weighs most."""
    return max(uses, key=WEIGHT.index)


KEPT = Taken("a value the program keeps", is_whole=False)


class Uses:
    """Collects uses by birth; which of them count is decided when the program ends."""

    def __init__(self) -> None:
        self._taken: dict[int, list[Taken]] = {}
        self._expected: set[int] = set()
        self.of: dict[int, Use] = {}  # of the births that count, and of those they come from

    def noticed(self, births: Iterable[int], taken: Taken) -> None:
        """Note that the program used bad values."""
        for birth in births:
            self._taken.setdefault(birth, []).append(taken)

    def expected(self, births: Iterable[int]) -> None:
        """Note that the program finds bad values itself and leaves them out, e.g. by `nanmean` or `isnan`."""
        self._expected.update(births)

    def counted(
        self, births: Mapping[int, Birth], living: Iterable[int], healed: Iterable[int]
    ) -> Iterator[tuple[int, list[str]]]:
        """Yield the births that count, with their uses in words; what is only kept counts unless it was healed."""
        for number in set(living) - set(self._taken) - set(healed):
            self._taken[number] = [KEPT]
        for number, every in self._taken.items():
            birth = births.get(number)
            if birth is None or number in self._expected:
                continue
            uses = [one for one in _with_nan(every, birth) if _counts(birth, one)]
            if uses:
                self._weigh(births, number, heaviest(one.use for one in uses))
                yield number, list(dict.fromkeys(one.how for one in uses))

    def _weigh(self, births: Mapping[int, Birth], number: int, use: Use) -> None:
        self.of[number] = heaviest([use, self.of.get(number, use)])
        for parent in births[number].parents if number in births else []:
            self._weigh(births, parent, use)


def _with_nan(every: list[Taken], birth: Birth) -> list[Taken]:
    """Return the uses; what is only kept is NaN if it was born so."""
    is_nan = birth.output is not None and birth.output.nan > 0
    return [replace(one, is_nan=is_nan) if one is KEPT else one for one in every]


def _counts(birth: Birth, taken: Taken) -> bool:
    """Tell whether a use shows a fault.

    A constant or a value from a file counts only if what is computed from it is nothing but NaN, or if it is given for
    a number: `inf` in place of a loss. The -inf of a logarithm often means "impossible".
    """
    if birth.kind == "source":
        is_result = taken.is_nan and taken.is_whole and taken.is_computed
        is_number = birth.output is not None and math.prod(birth.output.shape) == 1
        is_given = birth.origin == "literal" and is_number and not taken.is_computed
        return taken.is_output or is_result or (is_given and not taken.is_nan)
    return not _is_log_of_zero(birth)


def _is_log_of_zero(birth: Birth) -> bool:
    output = birth.output
    return (
        "log" in birth.op and output is not None and not output.nan and not output.positive_infinity
    )
