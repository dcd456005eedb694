"""The gradient of a square root, norm or standard deviation at exactly zero."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.births import op_name
from torchwhy.detect.cures import operands
from torchwhy.detect.edits import Source
from torchwhy.detect.judging import (
    Verdict,
    expression_of,
    findings_by_place,
    forward_operand,
    samples_of,
)
from torchwhy.detect.operands import (
    argument,
    is_masked,
    node_of,
    underflowed_operand,
    value_of,
    zero_divisor,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.trace import Trace

KINDS = {
    "SqrtBackward": "a square root",
    "PowBackward": "a power below 1",
    "LinalgVectorNormBackward": "a norm",
    "NormBackward": "a norm",
    "StdBackward": "a standard deviation",
    "StdMeanBackward": "a standard deviation",
    "DistBackward": "a distance",
    "HypotBackward": "a hypotenuse",
    "CdistBackward": "a distance",
    "PdistBackward": "a distance",
}


class RootGradientAtZero(Detector):
    """The gradient of a root was taken at exactly zero, where it is infinite.

    ## What it finds

    The backward formula of `sqrt`, of `x ** p` with 0 < p < 1, of a norm, a distance or a standard
    deviation whose value is exactly 0 at the element that went bad, and whose gradient reached a weight.

    ## Why it breaks training

    The slope of sqrt(x) is 1 / (2 sqrt(x)): at 0 it is infinite. The loss is finite and looks healthy;
    only the gradients are inf or NaN (inf times the zero slope of the square inside), and the next
    update destroys the weights. It needs one sample: two equal embeddings, one constant row.

    ## Broken

    A siamese network: at step 6 one pair holds the same picture twice.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)


    def contrastive(left, right, same):
        sum_of_squares = ((left - right) ** 2).sum(dim=1)
        distance = sum_of_squares.sqrt()  # <- root-gradient-at-zero
        return (same * distance**2 + (1 - same) * torch.relu(1 - distance) ** 2).mean()


    for step in range(10):
        a, b = torch.randn(16, 8), torch.randn(16, 8)
        if step == 6:
            b[5] = a[5]
        same = (torch.rand(16) < 0.5).float()
        loss = contrastive(net(a), net(b), same)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    A penalty on the spread of each unit, with one unit so saturated that it is constant.

    ```python
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(6, 8)
            self.second = nn.Linear(8, 1)

        def forward(self, x):
            hidden = torch.tanh(self.first(x))
            return self.second(hidden), hidden


    torch.manual_seed(0)
    net = Net()
    with torch.no_grad():
        net.first.bias[2] = 50.0
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(5):
        output, hidden = net(torch.randn(16, 6))
        spread = hidden.var(dim=0) ** 0.5  # <- root-gradient-at-zero
        loss = output.pow(2).mean() + 0.1 * torch.relu(1 - spread).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    A gradient penalty: the critic is flat at one sample, and the update is written by hand.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    with torch.no_grad():
        critic[0].bias.fill_(-0.5)
    for step in range(4):
        x = torch.randn(16, 3)
        if step == 2:
            x[11] = 0.0
        x.requires_grad_()
        score = critic(x)
        (slope,) = torch.autograd.grad(score.sum(), x, create_graph=True)
        length = torch.sqrt((slope * slope).sum(dim=1))  # <- root-gradient-at-zero
        loss = score.mean() + 10 * ((length - 1) ** 2).mean()
        critic.zero_grad()
        loss.backward()
        with torch.no_grad():
            for parameter in critic.parameters():
                parameter -= 0.001 * parameter.grad
    print(float(loss))
    ```

    Gradient accumulation: one of four small batches holds the zero.

    ```python
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    inputs = torch.randn(64, 4)
    inputs[42] = 0.0
    encoder = torch.nn.Linear(4, 3, bias=False)
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=1e-3)
    for number, (x,) in enumerate(DataLoader(TensorDataset(inputs), batch_size=4)):
        energy = encoder(x).pow(2).sum(dim=1)
        loss = torch.pow(energy, 0.5).mean() / 4  # <- root-gradient-at-zero
        loss.backward()
        if number % 4 == 3:
            torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)


    def contrastive(left, right, same):
        sum_of_squares = ((left - right) ** 2).sum(dim=1)
        distance = (sum_of_squares + 1e-12).sqrt()
        return (same * distance**2 + (1 - same) * torch.relu(1 - distance) ** 2).mean()


    for step in range(10):
        a, b = torch.randn(16, 8), torch.randn(16, 8)
        if step == 6:
            b[5] = a[5]
        same = (torch.rand(16) < 0.5).float()
        loss = contrastive(net(a), net(b), same)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    `torch.linalg.norm`, `std` and `F.normalize` define their gradient at 0 as 0, a root without gradient
    is only a number, and ReLU's backward stops the infinite slope of `sqrt(relu(x))`.

    ```python
    import torch
    import torch.nn.functional as F

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(6):
        x = torch.randn(8, 4)
        x[2] = 0.0
        output = model(x)
        zero = output - output.detach()
        length = torch.linalg.norm(zero, dim=1).sum() + zero.std() + torch.dist(output, output.detach())
        unit = F.normalize(zero, dim=1).sum()
        with torch.no_grad():
            root = (zero * zero).sum().sqrt()
        loss = torch.sqrt(torch.relu(output)).mean() + length + unit + root
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    If a `where` or a mask discarded the root's value, the cause is `masked-branch-gradient`. A root of a
    negative number is `domain-error`.
    """

    name = "root-gradient-at-zero"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from operands.for_root(finding, source)


def judge(birth: Birth) -> Verdict | None:
    """Recognise the backward formula of a root that divides by the root's own value, which is 0."""
    node = node_of(birth)
    if birth.kind != "operation" or node not in KINDS or is_masked(birth):
        return None
    if underflowed_operand(birth) is not None or not is_at_zero(birth):
        return None
    name = forward_operand(birth)
    where = "its operand" if name == "its operand" else f"its operand {name}"
    value = "all its values were equal" if "deviation" in KINDS[node] else f"{where} was exactly 0"
    return Verdict(
        f"{expression_of(birth)} has an infinite gradient at 0: {value}{samples_of(birth)}",
        (
            Evidence(
                f"{birth.node} divides by the value of {KINDS[node]}, which was 0",
                value=0.0,
                step=birth.step,
            ),
            Evidence("the forward value is finite: only the gradient is not", step=birth.step),
        ),
        f"add a small constant under the root: sqrt(x + 1e-12) in place of {expression_of(birth)}, "
        "or use the square itself",
    )


def is_at_zero(birth: Birth) -> bool:
    """Tell whether the formula divides by 0, or raises 0 to a power between -1 and 0."""
    if node_of(birth) == "PowBackward":
        exponent = value_of(argument(birth, 1))
        return zero_divisor(birth) is not None and exponent is not None and exponent > -1
    return zero_divisor(birth) is not None or op_name(birth) in (
        "_cdist_backward",
        "_pdist_backward",
    )
