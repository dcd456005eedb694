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
    value_at_born,
)
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, SourceSpan
from torchwhy.record.events import Birth, Operand
from torchwhy.record.trace import Trace

LONGEST_EXPRESSION = 70  # what still leaves room for the rest of the sentence on one terminal line


@dataclass(frozen=True)
class BadSamples:
    """The samples whose elements went bad: the first one, its row in the dataset, and how many more there are."""

    first: int | None = None
    row: int | None = None
    more: int = 0

    def __str__(self) -> str:
        """Return ` for sample 7 (row 3091 of the dataset)`, or nothing where no sample is known."""
        if self.first is None:
            return ""
        row = f" (row {self.row} of the dataset)" if self.row is not None else ""
        more = f" and {self.more} more" if self.more else ""
        return f" for sample {self.first}{row}{more}"


@dataclass(frozen=True)
class OperandValue:
    """An operand as the program calls it, and its value at the first element that went bad."""

    name: str
    value: float | None
    made_at: SourceSpan | None = None

    def __str__(self) -> str:
        return show(self.value)


@dataclass(frozen=True)
class Born:
    """Where a value that is not finite appeared: in which expression, at which step, in which samples."""

    expression: str
    step: int
    samples: BadSamples


class BirthDiagnosis(Diagnosis):
    """An operation made a value that is not finite."""

    at: Born

    @property
    def expression(self) -> str:
        """Return the expression of the program."""
        return self.at.expression

    @property
    def samples(self) -> BadSamples:
        """Return the samples in which it appeared."""
        return self.at.samples

    @property
    def step(self) -> int:
        """Return the step at which it appeared."""
        return self.at.step

    def fact(self, operand: OperandValue) -> Evidence:
        """Return the value of an operand as evidence."""
        return Evidence(
            f"{operand.name} was {operand}{self.samples}",
            value=as_real(operand.value),
            step=self.step,
            location=operand.made_at,
        )


@dataclass(frozen=True)
class Judgement:
    """What one birth turned out to be; `evidence` is what the diagnosis does not hold itself."""

    diagnosis: Diagnosis
    evidence: tuple[Evidence, ...] = ()


def findings_by_place(
    trace: Trace, detector: str, judge: Callable[[Birth], Judgement | None]
) -> Iterator[Finding]:
    """Yield one finding for each expression at which `judge` recognised births, the first of them leading."""
    found: dict[object, Finding] = {}
    for birth in counted_births(trace):
        judgement = judge(birth)
        if judgement is None:
            continue
        place = place_of(birth)
        if place in found:
            found[place] = replace(found[place], births=(*found[place].births, birth.id))
            continue
        found[place] = finding_from(
            trace,
            birth,
            detector=detector,
            diagnosis=judgement.diagnosis,
            evidence=judgement.evidence,
        )
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


def samples_of(birth: Birth) -> BadSamples:
    """Return which samples of the batch went bad, as far as they are known."""
    if not birth.positions:
        return BadSamples()
    row = birth.dataset_indices[0] if birth.dataset_indices else None
    return BadSamples(first=birth.positions[0], row=row, more=len(birth.positions) - 1)


def born(birth: Birth) -> Born:
    """Return where a birth happened."""
    return Born(expression_of(birth), birth.step, samples_of(birth))


def operand_value(operand: Operand | None) -> OperandValue:
    """Return an operand by its name in the program, with its value at the first bad element."""
    if operand is None:
        return OperandValue(name_of(None), None)
    return OperandValue(name_of(operand), value_at_born(operand), operand.origin_location)


def operand_fact(birth: Birth, operand: Operand | None) -> Evidence:
    """Return the value that an operand had at the first bad element as evidence, or the range of all its elements."""
    value = None if operand is None else value_at_born(operand)
    if value is None and operand is not None and operand.tensor is not None:
        claim = f"{name_of(operand)}: {describe(operand.tensor)}"
        return Evidence(claim, step=birth.step, location=operand.origin_location)
    return Evidence(
        f"{name_of(operand)} was {show(value)}{samples_of(birth)}",
        value=as_real(value),
        step=birth.step,
        location=operand.origin_location if operand is not None else None,
    )
