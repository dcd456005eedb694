"""A mean, a deviation or a loss over no elements, or over too few."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.births import finding_from, op_name, tensors, value_at_born
from torchwhy.detect.cures import data, samples
from torchwhy.detect.edits import Source
from torchwhy.detect.sources import expression_of
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth, Operand
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

DEVIATIONS = frozenset({"std", "var", "std_mean", "var_mean"})
LABELLED = frozenset({"nll_loss_forward", "nll_loss2d_forward", "nll_loss", "nll_loss2d"})
DIVISIONS = frozenset({"div", "true_divide"})
INTEGERS = ("int", "uint", "bool")


class EmptyReduction(Detector):
    """A mean, a deviation or a loss was taken over nothing, or over too few elements.

    ## What it finds

    A reduction that had no element to work on (`x[mask].mean()` with an empty mask, a loss over an empty
    batch), `std`/`var` of a single element with Bessel's correction, `cross_entropy` with every label
    ignored or of weight 0, and a sum divided by a count that is 0.

    ## Why it breaks training

    The mean of nothing is 0/0 = NaN, and so is the corrected deviation of one element. It happens in the
    rare batch that has no positive example, or in the last one that has a single sample.

    ## Broken

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(15):
        x = torch.randn(8, 4)
        positive = x[:, 0] > (0.0 if step < 10 else 100.0)
        error = (model(x).squeeze(1) - x.sum(1)).pow(2)
        loss = error[positive].mean()  # <- empty-reduction
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    Every label of a batch is the one to ignore:

    ```python
    import torch
    import torch.nn.functional as F

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    PAD = -100
    for step in range(8):
        x = torch.randn(6, 4)
        labels = torch.randint(0, 3, (6,))
        if step == 5:
            labels[:] = PAD
        loss = F.cross_entropy(model(x), labels, ignore_index=PAD)  # <- empty-reduction
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    The last batch of an epoch has a single sample, and the standard deviation over the batch none:

    ```python
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    data = TensorDataset(torch.randn(13, 4))
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        for (x,) in DataLoader(data, batch_size=4):
            z = model(x)
            spread = z.std(dim=0)  # <- empty-reduction
            loss = (1 - spread).pow(2).sum() + z.mean().pow(2)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    A masked mean by hand:

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


    def masked_loss(prediction, target, mask):
        error = (prediction - target).abs() * mask
        return error.sum() / mask.sum()  # <- empty-reduction


    for step in range(6):
        x = torch.randn(5, 3)
        mask = torch.rand(5) > (0.5 if step < 4 else 2.0)
        loss = masked_loss(model(x)[:, 0], x[:, 0], mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(15):
        x = torch.randn(8, 4)
        positive = x[:, 0] > (0.0 if step < 10 else 100.0)
        error = (model(x).squeeze(1) - x.sum(1)).pow(2)
        loss = (error * positive).sum() / positive.sum().clamp(min=1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ```python
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    data = TensorDataset(torch.randn(13, 4))
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        for (x,) in DataLoader(data, batch_size=4, drop_last=True):
            z = model(x)
            spread = z.std(dim=0)
            loss = (1 - spread).pow(2).sum() + z.mean().pow(2)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Lookalike

    The sum of nothing is 0, and a NaN mean that only gets printed spoils nothing.

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(6):
        x = torch.randn(8, 4)
        rare = x[:, 0] > 100.0
        error = (model(x).squeeze(1) - x.sum(1)).pow(2)
        loss = error.mean() + error[rare].sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"error on rare samples: {error[rare].mean()}")
    ```

    Some labels are ignored, others count; the deviation of one element is asked for without the correction.

    ```python
    import torch
    import torch.nn.functional as F

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(8):
        x = torch.randn(6, 4)
        labels = torch.tensor([-100, -100, 1, -100, 2, -100])
        logits = model(x)
        spread = logits[:1].var(dim=0, unbiased=False).sum()
        loss = F.cross_entropy(logits, labels) + spread
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    A count of zero is recognised where the divisor is a whole number; a sum of float mask entries that is
    0 is reported as `division-by-zero`.
    """

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
        yield from samples.skip_bad_batch(finding, source)


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
