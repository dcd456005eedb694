"""A loss that has no graph behind it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.crashes import crashes, expression_of, finding_of, idea, operand_evidence, says
from torchwhy.detect.cures import graphs, statements
from torchwhy.detect.edits import Source
from torchwhy.detect.judging import short
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Crash
from torchwhy.record.trace import Trace

NONE = r"element \d+ of tensors does not require grad and does not have a grad_fn"
UNUSED = r"differentiated Tensors? .*appears? to not have been used in the graph"
UNWANTED = r"differentiated Tensors? .*does not require grad"
INFERENCE = r"Inference tensors cannot be saved for backward"
ADVICE = {
    "no_grad": "move the forward pass and the loss out of it",
    "frozen": "leave at least one parameter trainable, or do not train this model",
    "switched-off": "switch recording on again: `torch.set_grad_enabled(True)`",
    "argmax": "compute the loss from the scores themselves, not from the chosen class",
    "comparison": "use a differentiable loss; accuracy can be measured beside it, not trained",
    "item": "keep the tensor, and use `.item()` only for what is shown",
    "detach": "detach only what must not get a gradient",
}


class NoGraph(Detector):
    """`backward()` was called on a value that no gradient can flow through.

    ## What it finds

    The place where the graph was cut between the weights and the loss: `.item()`, `.data`, `.detach()`,
    `.numpy()`, `torch.tensor(loss)`, `argmax`, a comparison, `with torch.no_grad()`, or weights that are all
    frozen.

    ## Why it breaks training

    Gradients flow along the graph that torch records while it computes. Plain numbers, whole numbers and
    copies know nothing of it, so nothing behind them can learn.

    ## Broken

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        x = torch.randn(6, 4)
        error = (model(x)[:, 0] - x.sum(1)).pow(2).mean()
        loss = torch.tensor(error.item())  # <- no-graph
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    The chosen class instead of the scores, in a function of its own:

    ```python
    import torch


    def wrong_answers(scores, labels):
        chosen = scores.argmax(dim=1)  # <- no-graph
        return (chosen - labels).abs().float().mean()


    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        x, labels = torch.randn(6, 4), torch.randint(0, 3, (6,))
        loss = wrong_answers(model(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    Under `no_grad`, left over from the evaluation:

    ```python
    import torch


    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = torch.nn.Linear(4, 8)
            self.out = torch.nn.Linear(8, 1)

        def forward(self, x):
            with torch.no_grad():  # <- no-graph
                features = torch.relu(self.body(x))
                scores = self.out(features)
            return scores


    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(3):
        loss = model(torch.randn(6, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    Every weight frozen:

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for parameter in model.parameters():
        parameter.requires_grad = False  # <- no-graph
    for step in range(3):
        x, labels = torch.randn(6, 4), torch.randint(0, 2, (6,))
        loss = torch.nn.functional.cross_entropy(model(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(3):
        x = torch.randn(6, 4)
        loss = (model(x)[:, 0] - x.sum(1)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item())
    ```

    ## Lookalike

    Detached targets, an accuracy beside the loss, and a frozen part of the model.

    ```python
    import torch

    torch.manual_seed(0)
    body, head = torch.nn.Linear(4, 8), torch.nn.Linear(8, 3)
    body.requires_grad_(False)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    for step in range(4):
        x, labels = torch.randn(6, 4), torch.randint(0, 3, (6,))
        with torch.no_grad():
            features = torch.relu(body(x))
        scores = head(features)
        accuracy = (scores.argmax(1) == labels).float().mean().item()
        weight = scores.detach().softmax(1).max(1).values
        loss = (weight * torch.nn.functional.cross_entropy(scores, labels, reduction="none")).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(accuracy)
    ```

    ## Limits

    The cut is found in the source, going back from the loss with the live values as a guide. In code that is
    built at run time, or in a library, only the failing line is told.
    """

    name = "no-graph"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if says(crash, NONE):
                yield finding_of(
                    trace,
                    crash,
                    detector=self.name,
                    message=_message(crash),
                    evidence=list(_evidence(crash)),
                    location=crash.places.get("cut"),
                    fixes=[_advice(crash)],
                )
            elif says(crash, UNUSED) or says(crash, UNWANTED) or says(crash, INFERENCE):
                yield _told_by_torch(trace, crash, self.name)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from graphs.kept(finding, source)
        yield from statements.with_graph(finding, source)
        yield from graphs.differentiable(finding, source)


def _told_by_torch(trace: Trace, crash: Crash, detector: str) -> Finding:
    """Report the cases in which torch itself says which tensor has no graph."""
    if says(crash, UNUSED):
        message = f"`{expression_of(crash)}` asks for the gradient of a tensor that did not go into the result"
        fix = idea(
            "differentiate by a tensor that the result was computed from, or pass `allow_unused=True`"
        )
    elif says(crash, UNWANTED):
        by = _differentiated_by(crash)
        message = (
            f"`{expression_of(crash)}` differentiates by {by}, which does not require a gradient"
        )
        fix = idea(f"before {by} goes into the model, let it require one: `.requires_grad_()`")
    else:
        message = f"`{expression_of(crash)}` trains on a tensor that was made under `torch.inference_mode()`"
        fix = idea(
            "make it under `torch.no_grad()`, or `clone()` it outside before it is used for training"
        )
    evidence = operand_evidence(crash)
    return finding_of(
        trace, crash, detector=detector, message=message, evidence=evidence, fixes=[fix]
    )


def _differentiated_by(crash: Crash) -> str:
    """Return the inputs of a call of `torch.autograd.grad` in the program's words."""
    try:
        call = ast.parse(expression_of(crash).strip(), mode="eval").body
    except SyntaxError:
        return "a tensor"
    given = [word.value for word in getattr(call, "keywords", []) if word.arg == "inputs"]
    inputs = given or getattr(call, "args", [])[1:2]
    return f"`{ast.unparse(inputs[0])}`" if inputs else "a tensor"


def _message(crash: Crash) -> str:
    loss = crash.facts.get("loss")
    loss = f"`{loss}`" if isinstance(loss, str) else "the loss"
    cut, why = crash.places.get("cut"), crash.facts.get("why")
    if cut is None or not isinstance(why, str):
        return f"{loss} has no graph: nothing that `{expression_of(crash)}` could give a gradient went into it"
    if crash.facts.get("kind") in ("frozen", "switched-off", "no_grad"):
        return f"{loss} has no graph: {why}"
    return f"{loss} has no graph, because it was cut at `{short(cut.expression or '')}`: {why}"


def _evidence(crash: Crash) -> Iterator[Evidence]:
    for frame in crash.frames[-1:]:
        flows = [tensor.name for tensor in frame.tensors if tensor.graph is not None]
        ends = [
            tensor.name
            for tensor in frame.tensors
            if tensor.graph is None and tensor.dtype.startswith("float")
        ]
        if flows:
            yield Evidence(
                f"with a graph: {', '.join(flows[:6])}; without: {', '.join(ends[:6]) or 'none'}"
            )


def _advice(crash: Crash) -> Fix:
    kind = crash.facts.get("kind")
    if isinstance(kind, str):
        return idea(
            ADVICE.get(kind, "compute the loss with tensors from the model's output to the end")
        )
    return idea(
        "make the loss depend on the model's output, and keep it a tensor from there to `backward()`"
    )
