"""Probabilities or logits given to a loss that expects their logarithms."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.cures import modules
from torchwhy.detect.edits import Source
from torchwhy.detect.graph import ForwardGraph, base_of, expression_of
from torchwhy.finding import Evidence, Finding, Fix, Severity
from torchwhy.record.learning import GraphOperation
from torchwhy.record.trace import Trace

ABOVE_ZERO = 1e-3  # a logarithm of a probability is at most 0; in half precision rounding may lift it by this much


class ProbabilitiesIntoNll(Detector):
    """The negative log-likelihood gets numbers that are no logarithms of probabilities.

    ## What it finds

    In the graph of the first step, the operand of `nll_loss` (or `ctc_loss`) is the result of a softmax or sigmoid, or
    holds numbers above 0, which no logarithm of a probability can be.

    ## Why it breaks training

    `NLLLoss` takes no logarithm and no softmax: it picks the number of the right class and turns its sign. With
    probabilities it is -p, whose gradient vanishes where the model is most wrong. With logits it has no lower bound:
    the loss falls below 0 and on, while nothing pushes the wrong classes down.

    ## Broken

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(200, 8)
    y = x[:, :4].argmax(dim=1)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4), nn.Softmax(dim=1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.NLLLoss()
    for step in range(60):
        optimizer.zero_grad()
        loss = criterion(model(x), y)  # <- probabilities-into-nll
        loss.backward()
        optimizer.step()
    ```

    ```python
    import torch
    import torch.nn.functional as F


    def train(model, batches):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for x, y in batches:
            optimizer.zero_grad()
            F.nll_loss(model(x), y).backward()  # <- probabilities-into-nll
            optimizer.step()


    torch.manual_seed(0)
    model = torch.nn.Linear(6, 3)
    train(model, [(x, x[:, :3].argmax(dim=1)) for x in torch.randn(30, 16, 6)])
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(200, 8)
    y = x[:, :4].argmax(dim=1)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4), nn.LogSoftmax(dim=1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.NLLLoss()
    for step in range(60):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    Logarithms of a mixture of two softmaxes, made by hand: each is at most 0.

    ```python
    import torch
    import torch.nn.functional as F

    torch.manual_seed(0)
    first, second = torch.nn.Linear(6, 3), torch.nn.Linear(6, 3)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=1e-2)
    for step in range(40):
        x = torch.randn(32, 6)
        y = x[:, :3].argmax(dim=1)
        mixture = 0.5 * F.softmax(first(x), dim=1) + 0.5 * F.softmax(second(x), dim=1)
        loss = F.nll_loss(torch.log(mixture + 1e-9), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    Logits that all happen to be negative on the first batch are not recognised. `kl_div` is not looked at.
    """

    name = "probabilities-into-nll"
    needs = frozenset({"graph"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        for loss in graph.operations("nll_loss_forward", "nll_loss2d_forward", "_ctc_loss"):
            source = graph.source(loss)
            verdict = (
                self._judge(loss, source) if source is not None and graph.trains(source) else None
            )
            if source is None or verdict is None:
                continue
            severity, what = verdict
            facts = loss.facts[0] if loss.facts else None
            evidence = [
                Evidence(
                    f"they come from {expression_of(source.location, 'the model')}",
                    step=0,
                    location=source.location,
                )
            ]
            if facts is not None and facts.minimum is not None and facts.maximum is not None:
                evidence.append(
                    Evidence(
                        f"they lie in {facts.minimum:.3g}…{facts.maximum:.3g}, and log-probabilities are at most 0",
                        step=0,
                    )
                )
            yield Finding(
                detector=self.name,
                severity=severity,
                message=f"this loss expects logarithms of probabilities and gets {what}",
                step=0,
                rank=trace.rank,
                location=loss.location,
                evidence=tuple(evidence),
                fixes=(
                    Fix(
                        "give it log_softmax of the logits, or give the logits to cross_entropy",
                        safety="show-only",
                    ),
                ),
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:  # noqa: ARG002 - the base's signature
        yield from modules.log_in_place(source)

    @staticmethod
    def _judge(loss: GraphOperation, source: GraphOperation) -> tuple[Severity, str] | None:
        if base_of(source) in ("_softmax", "_safe_softmax", "sigmoid"):
            return "warning", "the probabilities themselves"
        facts = loss.facts[0] if loss.facts else None
        if (
            base_of(source) == "_log_softmax"
            or facts is None
            or facts.maximum is None
            or facts.maximum <= ABOVE_ZERO
        ):
            return None
        return "error", "numbers above 0, so it has no lower bound"
