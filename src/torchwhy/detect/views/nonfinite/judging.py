"""From judged births to findings: one per expression of the program, however many births it had."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from torchwhy.detect.views.nonfinite.birth_facts import (
    as_real,
    counted_births,
    describe,
    finding_from,
    inside_of,
    show,
    value_at_born,
)
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Label, SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.record.events import Birth, Operand
from torchwhy.record.trace import Trace

LONGEST_EXPRESSION = 70  # Leaves room for the rest of the sentence on a terminal line.


@dataclass(frozen=True)
class BadSamples:
    """The samples with bad elements: the first one, its row in the dataset, and how many more there are."""

    first: int | None = None
    row: int | None = None
    more: int = 0
    of: str | None = None  # the program's tensor that the row is counted in, if there is no dataset

    def __str__(self) -> str:
        """Return ` for sample 7 (row 3091 of the dataset)`, or nothing if no sample is known."""
        if self.first is None:
            return ""
        where = f"`{self.of}`" if self.of else "the dataset"
        row = f" (row {self.row} of {where})" if self.row is not None else ""
        more = f" and {self.more} more" if self.more else ""
        return f" for sample {self.first}{row}{more}"


@dataclass(frozen=True)
class OperandValue:
    """The program's name for an operand, and the operand's value at the first bad element."""

    name: str
    value: float | None
    made_at: SourceSpan | None = None

    def __str__(self) -> str:
        return show(self.value)


@dataclass(frozen=True)
class Born:
    """Where a non-finite value appeared: in which expression, at which step, in which samples."""

    expression: str
    step: int
    samples: BadSamples
    is_in_library: bool = False


class BirthDiagnosis(Diagnosis):
    """An operation produced a non-finite value."""

    at: Born

    @property
    def headline_words(self) -> str:
        """Return the headline, or else the message without its samples."""
        return self.fill(self.headline or self.message.replace("{samples}", ""))

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
            f"{operand.name} was {operand}",
            value=as_real(operand.value),
            step=self.step,
            location=operand.made_at,
            label=None if operand.value is None else Label(operand.name, f"was {operand}"),
        )


@dataclass(frozen=True)
class Judgement:
    """The diagnosis of one birth; `evidence` comes in addition to the diagnosis's own."""

    diagnosis: Diagnosis
    evidence: tuple[Evidence, ...] = ()


def findings_by_place(
    trace: Trace, detector: str, judge: Callable[[Birth], Judgement | None]
) -> Iterator[Finding]:
    """Yield one finding for each expression at which `judge` recognised births, made from the first of them."""
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
    """Return a key for the expression of a birth; a birth without a place is its own key."""
    where = birth.location
    if where is None:
        return birth.id
    return (birth.step, where.file, where.line, where.column, where.expression)


def expression_of(birth: Birth) -> str:
    """Return the expression on one line, the program's or that of a library with its place; else the operation."""
    inside = inside_of(birth)
    if inside is not None:
        return in_library(inside, birth)
    text = birth.location.expression if birth.location is not None else None
    return short(text) if text else birth.op


def in_library(inside: SourceSpan, birth: Birth) -> str:
    """Return `softplus(x) in gpytorch/constraints.py:44 (called from train.py:30)`."""
    call = birth.location
    caller = f" (called from {call.file}:{call.line})" if call is not None else ""
    return f"{short(inside.expression or birth.op)} in {inside.file}:{inside.line}{caller}"


def short(text: str) -> str:
    """Return source text on one line, cut at its end if it is too long for a sentence."""
    flat = " ".join(text.split())
    return flat if len(flat) <= LONGEST_EXPRESSION else flat[: LONGEST_EXPRESSION - 1] + "…"


def name_of(operand: Operand | None, *, otherwise: str = "its operand") -> str:
    """Return the program's name for an operand."""
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
    """Return the samples of the batch with bad elements, as far as they are known."""
    if not birth.positions:
        return BadSamples()
    row = birth.dataset_indices[0] if birth.dataset_indices else None
    return BadSamples(
        first=birth.positions[0], row=row, more=len(birth.positions) - 1, of=birth.rows_of
    )


def born(birth: Birth) -> Born:
    """Return where a birth happened."""
    return Born(
        expression_of(birth),
        birth.step,
        samples_of(birth),
        is_in_library=inside_of(birth) is not None,
    )


def operand_value(operand: Operand | None) -> OperandValue:
    """Return the program's name for an operand, and its value at the first bad element."""
    if operand is None:
        return OperandValue(name_of(None), None)
    return OperandValue(name_of(operand), value_at_born(operand), operand.origin_location)


def operand_fact(birth: Birth, operand: Operand | None) -> Evidence:
    """Return an operand's value at the first bad element as evidence, or else the range of its elements."""
    value = None if operand is None else value_at_born(operand)
    if value is None and operand is not None and operand.tensor is not None:
        name, facts = name_of(operand), describe(operand.tensor)
        return Evidence(
            f"{name}: {facts}",
            step=birth.step,
            location=operand.origin_location,
            label=Label(name, facts),
        )
    return Evidence(
        f"{name_of(operand)} was {show(value)}",
        value=as_real(value),
        step=birth.step,
        location=operand.origin_location if operand is not None else None,
        label=None if value is None else Label(name_of(operand), f"was {show(value)}"),
    )
