from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import statements
from torchwhy.detect.views.crash.crash_facts import (
    crashes,
    expression_of,
    finding_of,
    idea,
    operand_evidence,
    says,
)
from torchwhy.detect.views.nonfinite.judging import short
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Crash
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

NEGATIVE = r"stride in the given numpy array is negative"


class NegativeStrides(Detector):
    """A reversed NumPy array was turned into a tensor."""

    name = "negative-strides"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if says(crash, NEGATIVE):
                turned = crash.places.get("turned")
                in_dataset = "indices" in crash.facts and "index" not in crash.facts
                yield finding_of(
                    trace,
                    crash,
                    detector=self.name,
                    message=_message(crash, in_dataset=in_dataset),
                    evidence=[*_evidence(crash), *operand_evidence(crash)],
                    location=turned if in_dataset else None,
                    fixes=[idea(_advice(crash, in_dataset=in_dataset))],
                )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from statements.copied_array(finding, source)


def _message(crash: Crash, *, in_dataset: bool) -> str:
    turned = crash.places.get("turned")
    if turned is not None and in_dataset:
        return (
            f"the dataset returns an array that `{short(turned.expression or '')}` has turned round without copying "
            "it, and a tensor cannot be read backwards"
        )
    if (
        turned is not None
        and turned.expression
        and crash.location is not None
        and turned.line != crash.location.line
    ):
        return (
            f"`{expression_of(crash)}` gets an array that `{short(turned.expression)}` has turned round without "
            "copying it, and a tensor cannot be read backwards"
        )
    return f"`{expression_of(crash)}` gets a reversed array, and a tensor cannot be read backwards"


def _evidence(crash: Crash) -> Iterator[Evidence]:
    if "turned" in crash.places:
        yield Evidence("the array is turned round here", location=crash.places["turned"])
    if isinstance(crash.facts.get("reversed"), str):
        yield Evidence(f"it is the part {crash.facts['reversed']} of a sample")


def _advice(crash: Crash, *, in_dataset: bool) -> str:
    turned = crash.places.get("turned")
    if turned is not None and turned.expression and in_dataset:
        return f"copy it: `{short(turned.expression)}.copy()`"
    return "copy the array before torch gets it: `array.copy()` or `np.ascontiguousarray(array)`"
