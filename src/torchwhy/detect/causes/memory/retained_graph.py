"""Losses kept with everything that autograd knows about how they were made."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.cures import memory
from torchwhy.detect.detach import fix_for
from torchwhy.detect.edits import Source
from torchwhy.detect.growth import (
    Growth,
    collect_facts,
    growths,
    in_words,
    is_window,
    memory_facts,
    place_name,
    without_outer_holders,
)
from torchwhy.finding import Evidence, Finding, Fix, Severity
from torchwhy.record.learning import Held
from torchwhy.record.trace import Trace


class RetainedGraph(Detector):
    """The graph of every step is kept alive, because something holds the loss itself and not its number.

    ## What it finds

    A list, dictionary or object that gets one more tensor with a graph each step, and a sum of losses that hangs
    on the graphs of all steps before; also in an evaluation loop that runs with gradients enabled.

    ## Why it breaks training

    A loss refers to the operation that made it, that one to those before, down to the weights. Whoever keeps the
    loss keeps all of them: every step costs memory that never comes back, and every step is a little slower, until
    the process is killed. Where no backward pass ran, the activations of the step are kept, too.
    `gc.collect()` and `empty_cache()` free nothing of it, as all of it is still referred to.

    ## Broken

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    losses = []
    for step in range(60):
        x = torch.randn(16, 8)
        loss = (net(x) - x.mean(dim=1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)  # <- retained-graph
    print("last:", losses[-1].item())
    ```

    The sum of the losses in the loop of an epoch.

    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(480, 6)
    data = DataLoader(TensorDataset(x, x.mean(dim=1, keepdim=True)), batch_size=8, shuffle=True)
    net = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)


    def train_epoch():
        running_loss = 0.0
        for inputs, targets in data:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(net(inputs), targets)
            loss.backward()
            optimizer.step()
            running_loss += loss  # <- retained-graph
        return running_loss / len(data)


    for epoch in range(2):
        print(epoch, float(train_epoch()))
    ```

    A meter that is handed the loss.

    ```python
    import torch
    from torch import nn


    class AverageMeter:
        def __init__(self):
            self.sum = 0.0
            self.count = 0

        def update(self, value, n):
            self.sum += value * n  # <- retained-graph
            self.count += n
            self.average = self.sum / self.count


    torch.manual_seed(0)
    net = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    meter = AverageMeter()
    for step in range(40):
        x = torch.randn(16, 8)
        loss = (net(x) - x.mean(dim=1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.update(loss, len(x))
    print(float(meter.average))
    ```

    A validation loop with gradients enabled: there nothing even frees the activations.

    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(400, 6)
    y = x.mean(dim=1, keepdim=True)
    train = DataLoader(TensorDataset(x[:80], y[:80]), batch_size=8, shuffle=True)
    validation = DataLoader(TensorDataset(x[80:], y[80:]), batch_size=8)
    net = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for epoch in range(2):
        for inputs, targets in train:
            optimizer.zero_grad()
            nn.functional.mse_loss(net(inputs), targets).backward()
            optimizer.step()
        net.eval()
        validation_losses = []
        for inputs, targets in validation:
            error = nn.functional.mse_loss(net(inputs), targets)
            validation_losses.append(error)  # <- retained-graph
        print(epoch, float(sum(validation_losses)) / len(validation_losses))
        net.train()
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    losses, bare, total = [], [], 0.0
    for step in range(60):
        x = torch.randn(16, 8)
        loss = (net(x) - x.mean(dim=1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        bare.append(loss.detach())
        total += loss.item()
    print("last:", losses[-1], "mean:", total / len(losses), torch.stack(bare).mean())
    ```

    ## Lookalike

    Losses are added up and then differentiated; a state is carried over without its graph; a bounded memory.

    ```python
    from collections import deque

    import torch
    from torch import nn

    torch.manual_seed(0)
    cell = nn.RNNCell(4, 8)
    head = nn.Linear(8, 1)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.02)
    state = torch.zeros(16, 8)
    recent = deque(maxlen=4)
    for step in range(60):
        state = state.detach()
        parts = []
        total = 0
        for _ in range(3):
            x = torch.randn(16, 4)
            state = cell(x, state)
            parts.append((head(state) - x.mean(dim=1, keepdim=True)).pow(2).mean())
            total = total + parts[-1]
        loss = torch.stack(parts).mean() + 0.1 * total
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recent.append(loss)
    print(sum(map(float, recent)) / len(recent))
    ```

    ## Limits

    The program is looked at after 2, 4, 8, … steps, so a growth that ends within some ten steps is not seen.
    What only a C++ extension or another thread refers to has no name here.
    """

    name = "retained-graph"
    needs = frozenset({"holdings"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        found = without_outer_holders([*growths(trace, _graphs_in), *growths(trace, _chain_of)])
        suspects = [growth for growth in found if is_kept(growth)]
        sums = [growth for growth in suspects if grows_itself(growth.held)]
        for growth in sums or suspects:
            yield finding_about(growth, trace, self.name)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from memory.kept_without_graph(finding, source)


def _graphs_in(held: Held) -> int:
    return 0 if held.kind == "tensor" else held.with_graph


def _chain_of(held: Held) -> int:
    return held.graph_nodes


def is_kept(growth: Growth) -> bool:
    """Tell whether the graphs are kept without need: not bounded by the program, not on the way to a backward."""
    held = growth.held
    if is_window(held):
        return False
    return is_endless(growth) or not held.feeds_backward


def is_endless(growth: Growth) -> bool:
    """Tell whether nothing ends the growth: neither did it fall, nor does the source empty the variable."""
    return growth.unit == "step" and growth.continues and growth.held.emptied_at is None


def grows_itself(held: Held) -> bool:
    """Tell `total += loss` from `average = total / n`, which only hangs on the other."""
    if held.kind != "tensor":
        return True
    expression = held.grown_at.expression or "" if held.grown_at is not None else ""
    leaf = re.sub(r"\[[^\]]*\]", "", held.name).rsplit(".", 1)[-1]
    return re.search(r"[-+*/@]=", expression) is not None or (
        len(re.findall(rf"\b{re.escape(leaf)}\b", expression)) > 1
    )


def finding_about(growth: Growth, trace: Trace, detector: str) -> Finding:
    """Return the finding: who keeps what, since when, how much, and what frees it."""
    held = growth.held
    return Finding(
        detector=detector,
        severity=severity_of(growth, trace),
        message=message_about(growth),
        step=growth.step,
        rank=trace.rank,
        location=held.grown_at,
        evidence=tuple(facts_about(growth, trace)),
        fixes=(fix_for(held),),
    )


def severity_of(growth: Growth, trace: Trace) -> Severity:
    """An endless growth breaks the run in the end; but where something else broke it already, that comes first."""
    return "error" if is_endless(growth) and not trace.alarms else "warning"


def message_about(growth: Growth) -> str:
    """Return one sentence in the program's own names and numbers."""
    held, unit = growth.held, growth.unit
    plural = f"{growth.ticks} {unit}{'es' if unit == 'batch' else 's'}"
    if held.kind == "tensor":
        what = (
            f"the sum {place_name(held)} hangs on the graph of every {unit}: after {plural} it reaches back "
            f"through {growth.last} operations to the first"
        )
    else:
        what = (
            f"{place_name(held)} keeps {growth.last} tensors with their graphs after {plural}, "
            f"{in_words(growth)}"
        )
    return f"{what}; {ending_of(growth)}"


def ending_of(growth: Growth) -> str:
    """Return what ends the growth, if anything does."""
    held = growth.held
    if held.emptied_at is not None:
        return f"it is let go only at line {held.emptied_at.line}, `{held.emptied_at.expression}`"
    if growth.unit == "batch":
        return "no backward pass uses them, so their activations stay as well"
    return "nothing ever empties it" if growth.continues else "later it grew no further"


def facts_about(growth: Growth, trace: Trace) -> Iterator[Evidence]:
    """Yield the curve, the memory, who refers to what, and what would and would not free it."""
    held = growth.held
    looks = ", ".join(str(tick) for tick, _ in growth.points)
    what = "operations behind" if held.kind == "tensor" else "tensors with a graph in"
    yield Evidence(
        f"{what} `{held.name}` after {growth.unit} {looks}: "
        + ", ".join(str(value) for _, value in growth.points),
        value=float(growth.last),
        step=growth.step,
        series=tuple(float(value) for _, value in growth.points),
    )
    yield from memory_facts(growth)
    kind = "tensor" if held.kind == "tensor" else held.kind
    yield Evidence(
        f"the {kind} `{held.name}` refers to them, each refers to the operations that made it: they are freed "
        f"when `{held.name}` lets go of them; gc.collect() frees nothing that is still referred to"
    )
    yield from collect_facts(trace, held)
