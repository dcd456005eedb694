"""From the judgement of single births to findings: one for each place in the program, however many births it had."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from torchwhy.detect.views.nonfinite.birth_facts import (
    as_real,
    counted_births,
    describe,
    finding_from,
    show,
)
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth, Operand
from torchwhy.record.trace import Trace

LONGEST_EXPRESSION = 70  # what still leaves room for the rest of the sentence on one terminal line


@dataclass(frozen=True)
class Verdict:
    """What one birth turned out to be: the sentence, the facts behind it, and what to change."""

    message: str
    facts: tuple[Evidence, ...]
    advice: str


@dataclass(frozen=True)
class Judgement:
    """What one birth turned out to be; `evidence` is what the diagnosis does not hold itself."""

    diagnosis: Diagnosis
    evidence: tuple[Evidence, ...] = ()


def findings_by_place(
    trace: Trace, detector: str, judge: Callable[[Birth], Judgement | Verdict | None]
) -> Iterator[Finding]:
    """Yield one finding for each expression at which `judge` recognised births, the first of them leading."""
    found: dict[object, Finding] = {}
    for birth in counted_births(trace):
        verdict = judge(birth)
        if verdict is None:
            continue
        place = place_of(birth)
        if place in found:
            found[place] = replace(found[place], births=(*found[place].births, birth.id))
            continue
        if isinstance(verdict, Judgement):
            found[place] = finding_from(
                trace,
                birth,
                detector=detector,
                diagnosis=verdict.diagnosis,
                evidence=verdict.evidence,
            )
            continue
        finding = finding_from(
            trace, birth, detector=detector, message=verdict.message, evidence=list(verdict.facts)
        )
        advice = Fix(title=verdict.advice, safety="show-only")
        found[place] = replace(finding, fixes=(advice,))
    yield from found.values()


def place_of(birth: Birth) -> object:
    """Return what tells two expressions apart; a birth without a place is its own."""
    where = birth.location
    if where is None:
        return birth.id
    return (birth.step, where.file, where.line, where.column, where.expression)


def expression_of(birth: Birth) -> str:
    """Return the user's expression on one line, or the operation's own name where it is unknown."""
    text = birth.location.expression if birth.location is not None else None
    return short(text) if text else birth.op


def short(text: str) -> str:
    """Return source text on one line, cut in the middle of its length if it is too long for a sentence."""
    flat = " ".join(text.split())
    return flat if len(flat) <= LONGEST_EXPRESSION else flat[: LONGEST_EXPRESSION - 1] + "…"


def name_of(operand: Operand | None, *, otherwise: str = "its operand") -> str:
    """Return an operand the way the program calls it."""
    if operand is None:
        return otherwise
    if operand.name:
        return short(operand.name)
    if operand.origin in ("batch", "parameter", "buffer") and operand.origin_name:
        return operand.origin_name
    made_by = operand.origin_location.expression if operand.origin_location is not None else None
    return short(made_by or otherwise)


def forward_operand(birth: Birth, index: int = 0) -> str:
    """Return the name of an operand of the forward operation that a backward birth differentiates."""
    names = birth.forward.operand_names if birth.forward is not None else []
    return short(names[index]) if index < len(names) and names[index] else "its operand"


def samples_of(birth: Birth) -> str:
    """Return ` for sample 7 (row 3091 of the dataset)`, or nothing where no sample is known."""
    if not birth.positions:
        return ""
    first = f" for sample {birth.positions[0]}"
    if birth.dataset_indices:
        first += f" (row {birth.dataset_indices[0]} of the dataset)"
    more = len(birth.positions) - 1
    return f"{first} and {more} more" if more else first


def operand_fact(birth: Birth, operand: Operand | None, value: float | None) -> Evidence:
    """Return the fact about the value that an operand had at the first bad element, or about all its elements."""
    if value is None and operand is not None and operand.tensor is not None:
        claim = f"{name_of(operand)}: {describe(operand.tensor)}"
        return Evidence(claim, step=birth.step, location=operand.origin_location)
    return Evidence(
        f"{name_of(operand)} was {show(value)}{samples_of(birth)}",
        value=as_real(value),
        step=birth.step,
        location=operand.origin_location if operand is not None else None,
    )
