from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import bad_values
from torchwhy.detect.views.nonfinite.birth_facts import finding_from
from torchwhy.detect.views.nonfinite.origins import (
    expression_of,
    feeds_new_nan,
    sources,
    where_it_went,
    word,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class NonfiniteLiteral(Detector):
    """A NaN or infinity that is written in the program itself reached the loss or the weights."""

    name = "nonfinite-literal"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for birth in sources(trace, "literal"):
            if feeds_new_nan(trace, birth) or _is_torchs_own(trace, birth):
                continue
            value = word(birth.value)
            expression = expression_of(birth, "an expression on this line")
            went = where_it_went(birth)
            message = (
                f"{expression} holds {value} as a constant of the program, and it went into {went}"
            )
            fact = f"{value} is no result here: it stands in the source"
            title = f"replace the {value} of {expression} by a finite value, or mask it out before it is computed with"
            if birth.phase == "update" and _rate_is_odd(trace, birth):
                message = f"the learning rate was no finite number in {expression}, and {value} went into {went}"
                fact = _rate_before(trace, birth)
                title = "look at what sets the learning rate: a scheduler of your own, or a division by its length"
            evidence = [Evidence(fact, value=birth.value, step=birth.step)]
            found = finding_from(
                trace, birth, detector=self.name, message=message, evidence=evidence
            )
            yield replace(found, fixes=(Fix(title, safety="show-only"),))

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from bad_values.finite_literal(finding, source)


def _is_torchs_own(trace: Trace, birth: Birth) -> bool:
    """Tell whether a torch function that failed put the constant in by itself, as `logdet` does for its NaN."""
    return birth.location is not None and any(
        other.kind == "operation"
        and other.step == birth.step
        and other.location == birth.location
        and other.order < birth.order
        for other in trace.births
    )


def _rate_is_odd(trace: Trace, birth: Birth) -> bool:
    """Tell whether the last learning rate told before an update was infinite or NaN."""
    told = [step.learning_rates for step in trace.steps if step.step <= birth.step]
    last = next((rates for rates in reversed(told) if rates), None)
    return last is not None and None in last


def _rate_before(trace: Trace, birth: Birth) -> str:
    rates = [rate for step in trace.steps if step.step < birth.step for rate in step.rates]
    if not rates:
        return "it was never a finite number before"
    return f"up to step {birth.step - 1} it was {rates[-1]:g}"
