"""A division by exactly zero."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.births import op_name
from torchwhy.detect.cures import bounds, operands, shapes
from torchwhy.detect.edits import Source
from torchwhy.detect.judging import (
    Verdict,
    expression_of,
    findings_by_place,
    forward_operand,
    name_of,
    operand_fact,
    samples_of,
)
from torchwhy.detect.operands import (
    DOMAIN_NODES,
    LOG_NODES,
    ROOT_NODES,
    argument,
    arguments,
    is_formula,
    is_masked,
    is_torchs_update,
    node_of,
    underflowed_operand,
    value_of,
    zero_divisor,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth, Operand
from torchwhy.record.trace import Trace

NORMALISATIONS = frozenset(
    {"native_layer_norm", "native_group_norm", "native_batch_norm", "_fused_rms_norm"}
)
# They divide by the pivots of the matrix, one of which is 0 when the matrix is singular.
SOLVERS = frozenset(
    {
        "linalg_inv_ex",
        "_linalg_solve_ex",
        "linalg_lu_solve",
        "linalg_solve_triangular",
        "linalg_pinv",
        "triangular_solve",
        "cholesky_inverse",
        "cholesky_solve",
    }
)


class DivisionByZero(Detector):
    """A number was divided by exactly zero.

    ## What it finds

    A division (`/`, `//`, `%`, `reciprocal`, `rsqrt`, `addcdiv`, a negative power, a normalisation with
    `eps=0`, the inverse of a singular matrix) whose divisor is 0 at the element that went bad, in
    forward, in data code, or in the backward formula of a division.

    ## Why it breaks training

    1/0 is inf and 0/0 is NaN. One such element is enough: the mean over the batch, the loss and with it
    every gradient become non-finite, and the next optimizer step writes that into all weights.

    ## Broken

    A hand-written standardisation meets a feature that is constant within the batch.

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(12):
        x = torch.randn(16, 3)
        if step == 7:
            x[:, 1] = 4.0
        spread = x.std(dim=0)
        x = (x - x.mean(dim=0)) / spread  # <- division-by-zero
        loss = (model(x) - 1.0).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    An attention-like pooling in a module: the weights of one sentence sum to zero.

    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset


    class Pool(nn.Module):
        def __init__(self):
            super().__init__()
            self.score = nn.Linear(5, 1, bias=False)
            self.head = nn.Linear(5, 2)

        def forward(self, x):
            weights = torch.relu(self.score(x))
            total = weights.sum(dim=1)
            pooled = (weights * x).sum(dim=1) / total  # <- division-by-zero
            return self.head(pooled)


    torch.manual_seed(0)
    words = torch.randn(40, 30, 5)
    words[29] = 0.0
    labels = torch.randint(0, 2, (40,))
    net = Pool()
    loader = DataLoader(TensorDataset(words, labels), batch_size=8)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
    criterion = nn.CrossEntropyLoss()
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = criterion(net(inputs), targets)
        loss.backward()
        optimizer.step()
    ```

    No training at all: features are prepared, and the table of results holds inf and never a NaN.

    ```python
    import torch


    def prepare(x):
        return 1.0 / (x - 1)  # <- division-by-zero


    torch.manual_seed(0)
    model = torch.nn.Linear(4, 2)
    x = torch.arange(8.0).reshape(2, 4)
    with torch.no_grad():
        print(model(prepare(x)))
    ```

    A hook of the user's own that scales a gradient to length 1, and meets a gradient of 0.

    ```python
    import torch


    def to_unit_length(gradient):
        return gradient / gradient.norm()  # <- division-by-zero


    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    model.weight.register_hook(to_unit_length)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(8):
        x = torch.randn(16, 4) * (0 if step == 5 else 1)
        loss = (model(x) - 1).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(12):
        x = torch.randn(16, 3)
        if step == 7:
            x[:, 1] = 4.0
        spread = x.std(dim=0)
        x = (x - x.mean(dim=0)) / (spread + 1e-6)
        loss = (model(x) - 1.0).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    The divisor is made safe before the division, in data and in the graph; and a metric that nothing
    depends on is infinite on purpose and replaced before it is used.

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(8):
        x = torch.randn(16, 4).relu()
        x[3] = 0.0
        length = x.sum(dim=1, keepdim=True)
        safe = torch.where(length == 0, torch.ones_like(length), length)
        shares = x / safe
        inverse = torch.nan_to_num(1.0 / length, posinf=0.0)
        loss = (model(shares) - inverse).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    The divisor must be exactly 0. A tiny divisor whose quotient exceeds the range is `float-overflow`; one
    that is 0 only in half precision is `half-precision-underflow`; 0/0 in an optimizer's update is
    `optimizer-epsilon`; the gradient of a root at 0 is `root-gradient-at-zero`.
    """

    name = "division-by-zero"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from bounds.for_every_use(finding, source)
        yield from operands.for_division(finding, source)
        yield from shapes.eps_where_made(finding, source)


def judge(birth: Birth) -> Verdict | None:
    """Recognise a birth that divides by 0 and that no more specific cause claims."""
    if birth.kind != "operation" or is_torchs_update(birth) or is_masked(birth):
        return None
    if (
        node_of(birth) in LOG_NODES | ROOT_NODES | DOMAIN_NODES
        or underflowed_operand(birth) is not None
    ):
        return None
    if op_name(birth) in NORMALISATIONS:
        return judge_normalisation(birth)
    if op_name(birth) in SOLVERS:
        return judge_solver(birth)
    if op_name(birth) == "_weight_norm_interface":
        return judge_weight_norm(birth)
    divided_by = zero_divisor(birth)
    if divided_by is None or is_gradient_of_root(birth) or is_mean_of_nothing(birth):
        return None
    name = (
        forward_operand(birth, 1)
        if is_formula(birth)
        else name_of(divided_by, otherwise="its divisor")
    )
    way = "the gradient of " if is_formula(birth) else ""
    return Verdict(
        f"{way}{expression_of(birth)} divides by zero: {name} was exactly 0{samples_of(birth)}",
        (operand_fact(birth, divided_by, 0.0), *_range_of(birth, divided_by)),
        f"keep {name} away from 0 before dividing: add a small constant that fits its scale, clamp it, or "
        f"replace the zeros with torch.where first",
    )


def _range_of(birth: Birth, divisor: Operand) -> Iterator[Evidence]:
    """Yield where the other elements of a divisor lie: one of both signs must not be clamped."""
    facts = divisor.tensor
    if facts is None or facts.minimum is None or facts.maximum is None:
        return
    if facts.minimum < facts.maximum:
        claim = f"its elements lie between {facts.minimum:.6g} and {facts.maximum:.6g}"
        yield Evidence(claim, step=birth.step)


def is_gradient_of_root(birth: Birth) -> bool:
    """Tell whether this is x ** p at 0 with 0 < p < 1: its derivative raises 0 to a power between -1 and 0."""
    exponent = value_of(argument(birth, 1))
    return node_of(birth) == "PowBackward" and exponent is not None and -1 < exponent < 0


def is_mean_of_nothing(birth: Birth) -> bool:
    """Tell whether 0 is divided by a whole number that counted nothing: that is `empty-reduction`."""
    counted = argument(birth, 1)
    if counted is None or counted.tensor is None or birth.node is not None:
        return False
    return (
        counted.tensor.dtype.startswith(("int", "uint", "bool"))
        and value_of(argument(birth, 0)) == 0
    )


def judge_normalisation(birth: Birth) -> Verdict | None:
    """Recognise a normalisation of a constant group: its variance is 0, and so is its eps."""
    scalars = [operand for operand in arguments(birth) if operand.argument == "eps"]
    numbers = scalars or [operand for operand in arguments(birth) if operand.tensor is None]
    epsilon = value_of(numbers[-1]) if numbers else None
    if epsilon != 0:
        return None
    name = name_of(argument(birth, 0), otherwise="its input")
    return Verdict(
        f"{expression_of(birth)} divides by a variance of zero: {name} is constant there and eps is 0",
        (Evidence("eps was 0", value=0.0, step=birth.step),),
        "give the normalisation a positive eps, such as its default 1e-5",
    )


def judge_weight_norm(birth: Birth) -> Verdict | None:
    """Recognise a weight that `weight_norm` divides by its own length, and that is zero."""
    direction = argument(birth, 0)
    if value_of(direction) != 0:
        return None
    name = name_of(direction, otherwise="the weight")
    return Verdict(
        f"weight_norm divides {name} by its length, which is zero, in {expression_of(birth)}",
        (operand_fact(birth, direction, 0.0),),
        "initialise the weight with something else than zeros before weight_norm, or set only its gain to zero",
    )


def judge_solver(birth: Birth) -> Verdict:
    """Describe the inverse of a singular matrix."""
    name = name_of(argument(birth, 0), otherwise="its matrix")
    return Verdict(
        f"{expression_of(birth)} inverts a singular matrix: a pivot of {name} is zero",
        (operand_fact(birth, argument(birth, 0), value_of(argument(birth, 0))),),
        f"add a small multiple of the identity to {name}, or use torch.linalg.lstsq",
    )
