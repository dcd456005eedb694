"""The logarithm of a softmax in two steps."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.cures import operands
from torchwhy.detect.edits import Source
from torchwhy.detect.graph import ForwardGraph, base_of
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.trace import Trace


class LogOfSoftmax(Detector):
    """The logarithm of a softmax is taken in two steps.

    ## What it finds

    In the graph of a first step a `log` gets its operand from a softmax, with nothing between.

    ## Why it breaks training

    As soon as a logit lies about 100 (in half precision 12) below the largest, its probability rounds to 0 and the
    logarithm is -inf. `log_softmax` computes the same value without that cliff.

    ## Broken

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(40):
        x = torch.randn(16, 6)
        y = x[:, :3].argmax(dim=1)
        probabilities = torch.softmax(model(x), dim=1)
        loss = -torch.log(probabilities)[torch.arange(16), y].mean()  # <- log-of-softmax
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(40):
        x = torch.randn(16, 6)
        y = x[:, :3].argmax(dim=1)
        loss = -torch.log_softmax(model(x), dim=1)[torch.arange(16), y].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    An epsilon or a clamp stands between softmax and logarithm, so there is no cliff.

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(40):
        x = torch.randn(16, 6)
        y = x[:, :3].argmax(dim=1)
        probabilities = torch.softmax(model(x), dim=1)
        entropy = -(probabilities * torch.log(probabilities + 1e-8)).sum(dim=1).mean()
        loss = torch.nn.functional.cross_entropy(model(x), y) - 0.01 * entropy
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    It is a note: nothing is broken yet. When the cliff is met, `log-of-nonpositive` reports it as the cause.
    """

    name = "log-of-softmax"
    needs = frozenset({"graph"})
    every_phase = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        seen = set()
        for logarithm in graph.operations("log", "log2", "log10"):
            softmax = graph.source(logarithm)
            if softmax is None or base_of(softmax) != "_softmax" or not logarithm.differentiable:
                continue
            if logarithm.location in seen:
                continue
            seen.add(logarithm.location)
            facts = logarithm.facts[0] if logarithm.facts else None
            smallest = (
                f"; the smallest so far is {facts.minimum:.3g}"
                if facts is not None and facts.minimum is not None
                else ""
            )
            yield Finding(
                detector=self.name,
                severity="note",
                message=f"the logarithm is taken of a softmax{smallest}: one that rounds to 0 gives -inf",
                step=0,
                rank=trace.rank,
                location=logarithm.location,
                evidence=(
                    Evidence(
                        f"the softmax is {softmax.location}", step=0, location=softmax.location
                    ),
                ),
                fixes=(Fix("take log_softmax of the logits in one step", safety="show-only"),),
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from operands.for_log(finding, source)
