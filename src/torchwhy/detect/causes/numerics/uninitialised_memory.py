from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import data
from torchwhy.detect.views.nonfinite.birth_facts import finding_from
from torchwhy.detect.views.nonfinite.origins import (
    Spoiled,
    expression_of,
    sources,
    where_it_went,
    word,
)
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.numbers import Real
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class UnwrittenMemory(Diagnosis):
    """The program read a tensor before it wrote to it; `name` is the tensor's name later on."""

    expression: str
    name: str | None
    value: Real
    went_into: Spoiled
    step: int
    message = "{expression}{now} was used before it was written: its memory contained {what}, which reached {went_into}"
    advice = "write to {expression}{now} before you read it, or create it with `torch.zeros` or `torch.ones`"

    @property
    def now(self) -> str:
        return f" (now `{self.name}`)" if self.name else ""

    @property
    def what(self) -> str:
        return word(self.value)

    def evidence(self) -> Iterator[Evidence]:
        claim = f"no operation wrote to the elements that contain {self.what}"
        yield Evidence(claim, value=self.value, step=self.step)


class UninitialisedMemory(Detector):
    """A tensor made by `torch.empty` was used before it was written."""

    name = "uninitialised-memory"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for birth in sources(trace, "uninitialised"):
            diagnosis = UnwrittenMemory(
                expression=expression_of(birth, "a fresh tensor"),
                name=birth.origin_name,
                value=birth.value,
                went_into=where_it_went(birth),
                step=birth.step,
            )
            yield finding_from(trace, birth, detector=self.name, diagnosis=diagnosis)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from data.filled_memory(finding.location, source)
