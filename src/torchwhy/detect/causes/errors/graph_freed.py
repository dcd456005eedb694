"""A second backward pass through a graph that the first one has freed."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.crashes import crashes, expression_of, finding_of, idea, says
from torchwhy.detect.cures import graphs, statements
from torchwhy.detect.edits import Source
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Crash
from torchwhy.record.trace import Trace

SECOND = r"backward through the graph a second time"


class GraphFreed(Detector):
    """A graph was used for a second backward pass, after the first one had freed it.

    ## What it finds

    The variable that brought the old graph along: a hidden state or a running sum that one iteration
    leaves for the next, a value with a graph made once before the loop, or two losses that share a part and
    are sent backward one after the other.

    ## Why it breaks training

    `backward()` frees the values it has saved. Whoever keeps a tensor with its graph, and computes on with it,
    asks the next `backward()` to go through the old part again. `retain_graph=True` silences the error, and
    then every step goes back to the first batch, slower each time and with gradients nobody wants.

    ## Broken

    ```python
    import torch

    torch.manual_seed(0)
    rnn = torch.nn.RNN(4, 8, batch_first=True)
    head = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    hidden = torch.zeros(1, 6, 8)
    for step in range(5):
        x = torch.randn(6, 5, 4)
        output, hidden = rnn(x, hidden)  # <- graph-freed
        loss = head(output[:, -1]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    The state is an attribute of the model:

    ```python
    import torch


    class Memory(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = torch.nn.GRUCell(3, 5)
            self.state = torch.zeros(4, 5)

        def forward(self, x):
            self.state = self.cell(x, self.state)  # <- graph-freed
            return self.state.sum(1)


    def train(model, optimizer):
        for step in range(4):
            loss = (model(torch.randn(4, 3)) - 1).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


    torch.manual_seed(0)
    memory = Memory()
    train(memory, torch.optim.Adam(memory.parameters()))
    ```

    Two losses through the same features:

    ```python
    import torch

    torch.manual_seed(0)
    body, left, right = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1), torch.nn.Linear(8, 1)
    parameters = [*body.parameters(), *left.parameters(), *right.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    for step in range(3):
        features = torch.tanh(body(torch.randn(6, 4)))
        loss_left = left(features).pow(2).mean()
        loss_right = (right(features) - 1).pow(2).mean()
        optimizer.zero_grad()
        loss_left.backward()
        loss_right.backward()  # <- graph-freed
        optimizer.step()
    ```

    A sum that grows over the batches:

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 0.0
    for step in range(4):
        loss = model(torch.randn(6, 4)).pow(2).mean()
        total = total + loss  # <- graph-freed
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import torch

    torch.manual_seed(0)
    rnn = torch.nn.RNN(4, 8, batch_first=True)
    head = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    hidden = torch.zeros(1, 6, 8)
    for step in range(5):
        x = torch.randn(6, 5, 4)
        output, hidden = rnn(x, hidden.detach())
        loss = head(output[:, -1]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    Two backward passes through one graph that was kept on purpose, and a second derivative.

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(4):
        x = torch.randn(6, 4, requires_grad=True)
        output = model(x)
        (slope,) = torch.autograd.grad(output.sum(), x, create_graph=True)
        optimizer.zero_grad()
        output.pow(2).mean().backward(retain_graph=True)
        (slope.pow(2).sum(1) - 1).pow(2).mean().backward()
        optimizer.step()
    ```

    ## Limits

    The carrier is looked for among the variables of the frames that were running (globals and variables of a closure
    included), and among the attributes of their modules. State kept elsewhere (a global cache in another module) is
    told as the failing line.
    """

    name = "graph-freed"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if says(crash, SECOND):
                yield finding_of(
                    trace,
                    crash,
                    detector=self.name,
                    message=_message(crash),
                    evidence=list(_evidence(crash)),
                    location=crash.places.get("carried"),
                    fixes=list(_fixes(crash)),
                )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from graphs.freed(finding, source)
        yield from statements.cut_between_steps(finding, source)


def _message(crash: Crash) -> str:
    name, way, call = crash.facts.get("carried"), crash.facts.get("way"), expression_of(crash)
    if way in ("loop", "module"):
        return (
            f"`{name}` still holds the graph of the iteration before, so `{call}` goes back into it, "
            "and the backward pass of that iteration has freed it"
        )
    if way == "before-loop":
        return (
            f"`{name}` was computed once, before the loop, so every `{call}` goes back through it, "
            "and the first one has freed its graph"
        )
    first, second, shared = (crash.facts.get(key) for key in ("first", "second", "shared"))
    if way == "twice" and first == second:
        return f"`{first}` was sent backward twice in one iteration, and the first time frees its graph"
    if way == "twice":
        through = f"`{shared}`" if isinstance(shared, str) else "the same values"
        return f"`{first}` and `{second}` both come from {through}, and the first backward pass has freed that graph"
    if way == "shared":
        return (
            f"`{call}` goes back through `{shared}`, whose graph an earlier backward pass has freed"
        )
    return f"`{call}` goes through a graph that an earlier backward pass has freed"


def _evidence(crash: Crash) -> Iterator[Evidence]:
    if "made" in crash.places:
        when = (
            "before the loop"
            if crash.facts.get("way") == "before-loop"
            else "in the iteration before"
        )
        yield Evidence(
            f"`{crash.facts.get('carried')}` got its value {when}", location=crash.places["made"]
        )
    if "first" in crash.places:
        yield Evidence("the first backward pass is here", location=crash.places["first"])


def _fixes(crash: Crash) -> Iterator[Fix]:
    name, way = crash.facts.get("carried"), crash.facts.get("way")
    if way == "module":
        name = crash.facts.get("attribute")
    first, second = crash.facts.get("first"), crash.facts.get("second")
    if way in ("loop", "module"):
        yield from _cures_of_state(crash, str(name))
    elif way == "before-loop":
        yield idea(
            f"compute `{name}` inside the loop, or use `{name}.detach()` if it needs no gradient"
        )
        yield idea("add the losses up in the loop, and send their sum backward once, after it")
    elif way == "twice" and first != second:
        yield idea(f"send them backward together: `({first} + {second}).backward()`")
        yield idea(
            "keep the graph for the second pass: `retain_graph=True` in the first `backward`"
        )
    elif way == "twice":
        yield idea("leave out the second backward pass")
    elif way == "shared":
        shared = crash.facts.get("shared")
        yield idea(f"use `{shared}.detach()` for the loss that is not to train what made it")
        yield idea("keep the graph for this pass: `retain_graph=True` in the earlier `backward`")
    else:
        yield idea("detach what is carried over from an earlier iteration, or compute it anew")


def _cures_of_state(crash: Crash, name: str) -> Iterator[Fix]:
    """Yield the ways to carry a value on without its graph."""
    if crash.facts.get("is_sum"):
        yield idea(f"send this iteration's own loss backward, and add `.item()` of it to `{name}`")
    elif crash.facts.get("is_collection"):
        yield idea(f"detach each tensor in `{name}` before the next iteration takes it over")
    else:
        diff = crash.facts.get("diff")
        title = f"cut the graph where the next iteration takes it over: `{name}.detach()`"
        yield Fix(title, diff=diff) if isinstance(diff, str) and diff else idea(title)
