"""Queries on a bad value that came from outside: from a batch, a weight, an array or a constant."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.views.nonfinite.birth_facts import inside_of
from torchwhy.detect.views.nonfinite.judging import in_library, short
from torchwhy.plain_data import dataclass
from torchwhy.record.events import Birth
from torchwhy.record.numbers import Real
from torchwhy.record.trace import Trace
from torchwhy.source.calls import called
from torchwhy.source.values import expression_of as syntax_of

TARGETS_SHOWN = 2
OF_DETERMINANT = "logdet"  # torch writes a NaN into its result where the determinant is negative.
WORDS = {"nan": "NaN", "inf": "+inf", "-inf": "-inf"}


def sources(trace: Trace, *origins: str) -> Iterator[Birth]:
    """Yield the births that no operation made and that have one of these origins."""
    for birth in trace.births:
        if birth.kind == "source" and birth.origin in origins:
            yield birth


def word(value: Real) -> str:
    """Return `NaN`, `+inf` or `-inf` as a report writes it."""
    return WORDS.get(str(value), str(value))


def is_of_negative_determinant(birth: Birth) -> bool:
    """Tell whether `logdet` wrote this NaN itself, as it does where the determinant is negative."""
    text = birth.location.expression if birth.location is not None else None
    if birth.origin != "literal" or birth.value != "nan" or not text:
        return False
    return called(syntax_of(text)) == OF_DETERMINANT


def is_about_weights(trace: Trace, birth: Birth) -> bool:
    """Tell whether the value was in a weight or buffer before the step, rather than in the data.

    The origin of a tensor from a file or an array does not show its use; an alarm about weights does.
    """
    if birth.origin in ("parameter", "buffer"):
        return True
    alarm = next(iter(trace.alarms), None)
    return birth.origin != "batch" and alarm is not None and alarm.what in ("parameter", "buffer")


@dataclass(frozen=True)
class Spoiled:
    """What a bad value reached: the first targets by name, and how many more there are."""

    targets: list[str]
    more: int = 0

    def __str__(self) -> str:
        """Return `the loss and the gradient of fc.weight`."""
        names = [target if target.startswith("a ") else f"the {target}" for target in self.targets]
        if self.more:
            return f"{', '.join(names)} and {self.more} more"
        return " and ".join(names)


def where_it_went(birth: Birth) -> Spoiled:
    """Return what the value reached."""
    more = max(len(birth.reaches) - TARGETS_SHOWN, 0)
    return Spoiled(birth.reaches[:TARGETS_SHOWN], more)


def expression_of(birth: Birth, otherwise: str) -> str:
    """Return the program's expression in backquotes, or `otherwise` if it is unknown."""
    inside = inside_of(birth)
    if inside is not None:
        return in_library(inside, birth)
    if birth.location is not None and birth.location.expression:
        return f"`{short(birth.location.expression)}`"
    return otherwise


def feeds_new_nan(trace: Trace, birth: Birth) -> bool:
    """Tell whether an infinity did harm only through the NaN that a later operation made of it.

    A mask of -inf is intended; unless the infinity itself reaches the loss, the product that turns it into NaN is
    the cause.
    """
    if birth.value not in ("inf", "-inf") or "loss" in birth.reaches:
        return False
    return any(birth.id in other.parents for other in trace.births if other.kind == "from-infinity")
