from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import bad_values, data
from torchwhy.detect.views.nonfinite.birth_facts import (
    finding_from,
    op_name,
    tensors,
    value_at_born,
)
from torchwhy.detect.views.nonfinite.origins import expression_of
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth, Operand
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

DEVIATIONS = frozenset({"std", "var", "std_mean", "var_mean"})
LABELLED = frozenset({"nll_loss_forward", "nll_loss2d_forward", "nll_loss", "nll_loss2d"})
DIVISIONS = frozenset({"div", "true_divide"})
INTEGERS = ("int", "uint", "bool")


class EmptyReduction(Detector):
    """A mean, a deviation or a loss was taken over nothing, or over too few elements."""

    name = "empty-reduction"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for birth in trace.births:
            if birth.kind != "operation" or birth.node is not None:
                continue
            told = _explain(birth)
            if told is None:
                continue
            message, fact, title = told
            evidence = [Evidence(fact, step=birth.step)]
            found = finding_from(
                trace, birth, detector=self.name, message=message, evidence=evidence
            )
            yield replace(found, fixes=(Fix(title, safety="show-only"),))

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from data.empty_reduction(finding, source)
        yield from bad_values.skip_bad_batch(finding, source)


def _explain(birth: Birth) -> tuple[str, str, str] | None:
    """Return message, proof and advice if this birth is a reduction of too few elements."""
    name = op_name(birth)
    expression = expression_of(birth, f"`{name}`")
    if name in LABELLED:
        return _labels_ignored(birth, expression)
    if name in DIVISIONS:
        return _zero_count(birth, expression)
    if name in DEVIATIONS:
        if birth.reduced is None or birth.reduced > _correction(birth):
            return None
        message = (
            f"{expression} is a standard deviation or variance over {_elements(birth.reduced)}: "
            "with the usual correction it divides by n - 1, here 0"
        )
        return (
            message,
            f"{_elements(birth.reduced)} went into each result",
            "skip batches of one sample (`drop_last=True`), or ask for `unbiased=False`",
        )
    if birth.reduced == 0 or (birth.reduced is None and _all_empty(birth)):
        operand = next(
            (operand.name for operand in tensors(birth) if operand.name), "what it reduces"
        )
        return (
            f"{expression} reduces nothing: {operand} has no elements, and the mean of nothing is 0/0",
            f"0 elements went into each result; {operand} has shape {_shape(birth)}",
            f"leave the term out when {operand} is empty, or divide a sum by a count clamped to at least 1",
        )
    return None


def _labels_ignored(birth: Birth, expression: str) -> tuple[str, str, str] | None:
    """A class loss that started finite and is NaN has divided by a total weight of 0."""
    labels = next((operand for operand in tensors(birth)[1:2]), None)
    if labels is None or birth.value != "nan":
        return None
    name = labels.name or "the labels"
    empty = 0 in (labels.tensor.shape if labels.tensor else [])
    reason = "the batch is empty" if empty else f"every entry of {name} is ignored or has weight 0"
    return (
        f"{expression} averages over no label: {reason}, so it is 0/0",
        reason,
        f"skip batches in which no entry of {name} counts, or sum the loss and divide by a count clamped to 1",
    )


def _zero_count(birth: Birth, expression: str) -> tuple[str, str, str] | None:
    """A sum of nothing divided by how many there were: 0 / 0 with a whole number below."""
    operands = birth.operands[:2]
    if len(operands) < 2 or value_at_born(operands[0]) != 0 or value_at_born(operands[1]) != 0:
        return None
    if not _is_count(operands[1]):
        return None
    count = operands[1].name or "the count below"
    return (
        f"{expression} is a mean over no elements: {count} counted 0",
        f"{operands[0].name or 'the sum'} is 0 and {count} is 0",
        f"divide by `{count.strip('`')}` clamped to at least 1, or leave the term out when nothing was selected",
    )


def _is_count(operand: Operand) -> bool:
    return operand.tensor is not None and operand.tensor.dtype.startswith(INTEGERS)


def _correction(birth: Birth) -> float:
    """Return what is taken off the number of elements: 1 unless the program asked for something else."""
    for operand in birth.operands:
        if operand.argument == "correction" and operand.scalar is not None:
            return decode(operand.scalar)
    return 1.0


def _all_empty(birth: Birth) -> bool:
    operands = tensors(birth)
    return bool(operands) and all(
        0 in operand.tensor.shape for operand in operands if operand.tensor
    )


def _shape(birth: Birth) -> str:
    return next(
        (str(operand.tensor.shape) for operand in tensors(birth) if operand.tensor), "unknown"
    )


def _elements(count: int) -> str:
    return "1 element" if count == 1 else f"{count} elements"
