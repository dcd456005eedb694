"""Is every result used that a step computes, every part of a batch, and every argument?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchwhy.detect.checks import measured_answers as measured
from torchwhy.detect.checks import recorded_facts as facts
from torchwhy.detect.checks.asked_question import ask
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import SourceSpan
from torchwhy.record.learning import GraphOperation
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

PARTS = "parts-read"
ROUNDING = 1e-4  # of the loss: sums in another order


class PartUnread(Diagnosis):
    """A part of each batch is read by no operation, which need not be a fault."""

    operations: int
    part: str
    batches: int
    message = (
        "{operations} operations of the observed step; none reads `{part}` in {batches} batches"
    )


class ArgumentUnread(Diagnosis):
    """A function of the program never reads a tensor that it is given, which need not be a fault."""

    operations: int
    function: str
    argument: str
    place: SourceSpan
    more: int
    part: str | None = None
    message = "{shown}"

    @property
    def shown(self) -> str:
        """Return the argument with its place, how many others there are, and an unread part of the batches."""
        shown = (
            f"{self.operations} operations of the observed step; `{self.function}` is given a tensor as "
            f"`{self.argument}` and never reads it ({self.place.file}:{self.place.line})"
        )
        if self.more:
            shown += f", and {self.more} more like it"
        return shown if self.part is None else f"{shown}; no operation reads `{self.part}`"


class PaddingUnmarked(Diagnosis):
    """No operation reads the part of a batch that marks padding, and the padding moves the loss."""

    part: str
    batches: int
    padded: int
    elements: int
    before: float
    after: float
    message = (
        "no operation reads `{part}` in {batches} batches, and the padding it marks moves the loss: {before:.4g} → "
        "{after:.4g} with other values in the {padded} padded of {elements} elements of a batch"
    )
    advice = "hide the padding from the model by `{part}`: a mask in attention and means, packed sequences in an RNN"


def _facts(trace: Trace) -> Mapping[str, Any]:
    return next((one.answer for one in facts.answered(trace, PARTS)), {})


def _unread_argument(trace: Trace) -> ArgumentUnread | None:
    for made in facts.answered(trace, PARTS):
        found, place = made.answer, made.places.get("argument")
        if place is not None:
            return ArgumentUnread(
                operations=len(trace.of(GraphOperation)),
                function=str(found["function"]),
                argument=str(found["argument"]),
                place=place,
                more=int(float(str(found["arguments"]))) - 1,
                part=str(found["part"]) if "part" in found else None,
            )
    return None


def _measured(trace: Trace) -> Diagnosis:
    found, argument = _facts(trace), _unread_argument(trace)
    if argument is not None:
        return argument
    if "part" not in found:
        return measured.graph(trace)
    return PartUnread(
        operations=len(trace.of(GraphOperation)),
        part=str(found["part"]),
        batches=int(decode(found["batches"])),
    )


def unmarked_padding(trace: Trace) -> PaddingUnmarked | None:
    """Return by how much unmarked padding moves the loss."""
    found = _facts(trace)
    if "after" not in found:
        return None
    before, after = decode(found["before"]), decode(found["after"])
    if not abs(after - before) > ROUNDING * abs(before):
        return None
    return PaddingUnmarked(
        part=str(found["part"]),
        batches=int(decode(found["batches"])),
        padded=int(decode(found["padded"])),
        elements=int(decode(found["elements"])),
        before=before,
        after=after,
    )


QUESTION = ask(
    "nothing-thrown-away",
    "Is nothing computed and thrown away?",
    facts.GRAPH,
    by=_measured,
    denied=unmarked_padding,
)
