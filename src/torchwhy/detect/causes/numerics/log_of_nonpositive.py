"""A logarithm of zero or of a negative number."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.births import op_name, show
from torchwhy.detect.cures import bounds, operands
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
    LOG_NODES,
    argument,
    is_formula,
    is_masked,
    node_of,
    underflowed_operand,
    value_of,
    zero_divisor,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.trace import Trace

# The bound each logarithm needs its operand to stay above.
BOUNDS = {
    "log": 0.0,
    "log2": 0.0,
    "log10": 0.0,
    "log1p": -1.0,
    "xlogy": 0.0,
    "special_xlog1py": -1.0,
    "special_entr": 0.0,
}
# These take the logarithm of their second argument; the others of their first.
OF_SECOND_ARGUMENT = frozenset({"xlogy", "special_xlog1py"})
# They take a logarithm inside one kernel, of a probability, a target or a determinant.
FUSED = {
    "binary_cross_entropy": "a probability of exactly 0 or 1",
    "binary_cross_entropy_backward": "a probability of exactly 0 or 1",
    "_linalg_slogdet": "a determinant of 0",
}


class LogOfNonpositive(Detector):
    """A logarithm was taken of zero or of a negative number.

    ## What it finds

    `log`, `log2`, `log10`, `log1p`, `xlogy`, `xlog1py` or `entr` whose operand, at the element that went
    bad, is at or below the bound (0, or -1 for `log1p`), in forward or in its gradient, also inside
    `kl_div`, `nll_loss`, `binary_cross_entropy`, `logdet` or a distribution's `log_prob`, and whose result
    reached the loss, a gradient or a weight.

    ## Why it breaks training

    log(0) is -inf and the log of a negative number is NaN. The loss becomes infinite or NaN, every
    gradient behind it too, and one optimizer step later every weight is lost.

    ## Broken

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
    for step in range(20):
        x = torch.randn(8, 4) * (1 if step < 5 else 1000)
        target = torch.randint(0, 3, (8,))
        probabilities = torch.softmax(model(x), dim=1)
        picked = probabilities[torch.arange(8), target]
        loss = -torch.log(picked).mean()  # <- log-of-nonpositive
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    A hand-written binary cross entropy in a module, where the sigmoid rounds to exactly 1.

    ```python
    import torch
    from torch import nn


    class Loss(nn.Module):
        def forward(self, logits, target):
            p = torch.sigmoid(logits)
            wrong = torch.log(1 - p)  # <- log-of-nonpositive
            right = nn.functional.logsigmoid(logits)
            return -(target * right + (1 - target) * wrong).mean()


    torch.manual_seed(0)
    model = nn.Linear(2, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = Loss()
    for step in range(8):
        x = torch.randn(16, 2)
        if step == 5:
            x[4] = 400.0 * model.weight.detach()[0]
        loss = criterion(model(x), (x[:, :1] < 0).float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    The entropy of probabilities that reach 0: `xlogy` is finite in forward and its gradient is not.

    ```python
    import torch

    torch.manual_seed(0)
    scores = torch.tensor([0.5, 0.2, 0.0], requires_grad=True)
    optimizer = torch.optim.SGD([scores], lr=0.1)
    for step in range(4):
        shares = scores / scores.sum()
        entropy = -torch.special.xlogy(shares, shares).sum()  # <- log-of-nonpositive
        loss = (shares**2).sum() - entropy
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    Mixed precision: the scaler skips the steps whose loss is inf, and training silently stands still.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=128.0)
    for step in range(8):
        x = torch.randn(8, 4) * (1 if step < 5 else 500)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = net(x)
        p = torch.softmax(logits.float(), dim=1)
        loss = -p.log().mean()  # <- log-of-nonpositive
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    ```

    ## Repaired

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
    for step in range(20):
        x = torch.randn(8, 4) * (1 if step < 5 else 1000)
        target = torch.randint(0, 3, (8,))
        log_probabilities = torch.log_softmax(model(x), dim=1)
        loss = -log_probabilities[torch.arange(8), target].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    The logarithm of zero is multiplied away safely by `xlogy`, and a -inf is masked before the sum.

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
    target = torch.tensor([[1.0, 0.0, 0.0]]).repeat(8, 1)
    for step in range(10):
        x = torch.randn(8, 4)
        entropy = torch.special.xlogy(target, target).sum()
        hidden = torch.log(target).masked_fill(target == 0, 0.0).sum()
        loss = -(target * torch.log_softmax(model(x), dim=1)).sum(1).mean() + entropy + hidden
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    If a `where` or a mask discarded the logarithm, the cause is `masked-branch-gradient`; a probability that is
    0 only in half precision is `half-precision-underflow`. `F.binary_cross_entropy` limits its logarithms to
    -100, so it rarely fails, and then in its gradient.
    """

    name = "log-of-nonpositive"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from bounds.for_every_use(finding, source)
        yield from operands.for_log(finding, source)


def judge(birth: Birth) -> Verdict | None:
    """Recognise a logarithm, or the gradient of one, at or below the bound of its operand."""
    if birth.kind != "operation" or birth.phase == "update" or is_masked(birth):
        return None
    if underflowed_operand(birth) is not None:
        return None
    if op_name(birth) in FUSED:
        return judge_fused(birth)
    if op_name(birth) in BOUNDS and node_of(birth) != "PowBackward":
        return judge_logarithm(birth)
    if node_of(birth) in LOG_NODES and zero_divisor(birth) is not None:
        return judge_gradient(birth)
    return None


def judge_logarithm(birth: Birth) -> Verdict | None:
    """Compare the operand of a logarithm with its bound."""
    kind = op_name(birth)
    operand = argument(birth, 1 if kind in OF_SECOND_ARGUMENT else 0)
    value = value_of(operand)
    if value is None or value > BOUNDS[kind]:
        return None
    name = forward_operand(birth) if is_formula(birth) else name_of(operand)
    what = "1 + x at x = " if BOUNDS[kind] else ""
    return Verdict(
        f"{expression_of(birth)} takes the logarithm of {what}{show(value)}: "
        f"{name} was {show(value)}{samples_of(birth)}",
        (operand_fact(birth, operand, value),),
        advice_for_data(name) if birth.phase == "data" else advice_for(name),
    )


def judge_gradient(birth: Birth) -> Verdict:
    """Describe the gradient 1/x of a logarithm at 0."""
    name = forward_operand(
        birth, 1 if node_of(birth) in ("XlogyBackward", "SpecialXlog1PyBackward") else 0
    )
    return Verdict(
        f"{expression_of(birth)} has the gradient 1/x of a logarithm, and {name} was exactly 0{samples_of(birth)}",
        (
            Evidence(
                f"{birth.node} divides by the operand of the logarithm, which was 0",
                value=0.0,
                step=birth.step,
            ),
        ),
        advice_for(name),
    )


def judge_fused(birth: Birth) -> Verdict:
    """Describe a logarithm inside a kernel that does more than that."""
    operand = argument(birth, 0)
    return Verdict(
        f"{expression_of(birth)} takes the logarithm of {FUSED[op_name(birth)]}{samples_of(birth)}",
        (operand_fact(birth, operand, value_of(operand)),),
        advice_for(name_of(operand)),
    )


def advice_for(name: str) -> str:
    """Return the usual cures, in the program's words."""
    return (
        f"compute the logarithm from the logits (log_softmax, logsigmoid, logsumexp, a loss *_with_logits) "
        f"in place of {name}, or clamp {name} to a small positive number first"
    )


def advice_for_data(name: str) -> str:
    """Return the usual cures where it is a dataset that takes the logarithm."""
    return f"clamp {name} to a small positive number first, take `log1p` if zeros are meant, or leave such samples out"
