from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import data
from torchwhy.detect.views.nonfinite.birth_facts import finding_from
from torchwhy.detect.views.nonfinite.origins import expression_of, sources, where_it_went, word
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class UninitialisedMemory(Detector):
    """A tensor made by `torch.empty` was computed with before it was written."""

    name = "uninitialised-memory"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for birth in sources(trace, "uninitialised"):
            value = word(birth.value)
            expression = expression_of(birth, "a fresh tensor")
            name = f" (now `{birth.origin_name}`)" if birth.origin_name else ""
            message = (
                f"{expression}{name} was used before it was written: its memory held {value}, "
                f"which went into {where_it_went(birth)}"
            )
            fact = f"nothing was written to the elements that hold {value}"
            evidence = [Evidence(fact, value=birth.value, step=birth.step)]
            title = f"write {expression}{name} before it is read, or make it with `torch.zeros` or `torch.ones`"
            found = finding_from(
                trace, birth, detector=self.name, message=message, evidence=evidence
            )
            yield replace(found, fixes=(Fix(title, safety="show-only"),))

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from data.filled_memory(finding, source)
