"""The graph between a parameter and the loss is cut."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.cures import graphs
from torchwhy.detect.drawn import draws_without_derivative
from torchwhy.detect.edits import Source
from torchwhy.detect.graph import ForwardGraph
from torchwhy.detect.wiring import untrained
from torchwhy.finding import Evidence, Finding, Fix, Severity
from torchwhy.record.events import Weights
from torchwhy.record.learning import GraphCut, ParameterCensus
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

WORDS = {
    "detach": "`.detach()` takes the value out of the graph",
    "data": "`.data` is the value without its graph",
    "parameter": "`nn.Parameter` makes a new leaf, which holds the values and knows nothing of their graph",
    "item": "a plain number knows nothing of its graph, and a new tensor made of it begins an empty one",
    "number": "a plain number knows nothing of its graph",
    "array": "an array or list knows nothing of its graph, and a new tensor made of it begins an empty one",
    "no-grad": "nothing computed under `no_grad` has a graph",
    "underivable": "this operation has no derivative",
    "flat": "the derivative of this operation is 0 wherever it has one",
}
CURES = {
    "detach": "remove the `.detach()`",
    "data": "use the tensor itself in place of `.data`",
    "parameter": "use the tensor itself, not an `nn.Parameter` made of it",
    "item": "use the tensor itself, not a new tensor made of its number",
    "number": "use the tensor itself, not its number",
    "array": "stay with torch operations between the parameters and the loss",
    "no-grad": "compute this part outside of `no_grad`",
    "flat": "draw as `mean + std * torch.randn_like(std)` (`rsample`), or keep the value before it was rounded",
    "draw": "draw with a derivative: `rsample()`, or `mean + std * torch.randn_like(std)`",
    "underivable": "use an operation with a derivative: probabilities in place of the chosen class",
}
MOST_NAMED = 4


class DetachedGraph(Detector):
    """Parameters are used and given to the optimizer, but the graph between them and the loss is cut.

    ## What it finds

    At an optimizer's first step some of its parameters have no gradient, though they were used and the loss depends
    on them: their values were followed through memory to the call where autograd lost them, a `.detach()`, `.data`,
    `.item()`, `torch.tensor(…)`, a way through NumPy, a `no_grad` block, an `argmax` or a comparison. Rounding and
    draws such as `torch.normal(mean, std)` have a derivative of 0 and count as cuts, where the gradient is exactly 0. A
    draw that goes into further layers, while no log-probability of it is taken, is told of in any case.

    ## Why it breaks training

    Backward stops at the cut. What lies before it keeps its random initial weights for ever, and what lies behind it
    learns from features that never improve. If the loss itself was made anew, nothing learns at all.

    ## Broken

    ```python
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Linear(6, 16)
            self.head = nn.Linear(16, 3)

        def forward(self, x):
            hidden = torch.relu(self.encoder(x))
            hidden = torch.from_numpy(hidden.detach().numpy() / 2)  # <- detached-graph
            return self.head(hidden)


    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(40):
        x = torch.randn(32, 6)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(30):
        x = torch.randn(32, 4)
        error = nn.functional.mse_loss(model(x), x.sum(dim=1, keepdim=True))
        loss = torch.tensor(error.item(), requires_grad=True)  # <- detached-graph
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset


    class Sequence(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(20, 8)
            self.rnn = nn.GRU(8, 16, batch_first=True)
            self.out = nn.Linear(16, 2)

        def forward(self, tokens):
            states, _ = self.rnn(self.embed(tokens))
            return self.out(states[:, -1].data)  # <- detached-graph


    torch.manual_seed(0)
    tokens = torch.randint(0, 20, (320, 7))
    loader = DataLoader(TensorDataset(tokens, (tokens[:, 0] > 9).long()), batch_size=32)
    model = Sequence()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    ```

    ```python
    import torch
    from torch import nn
    from torch.distributions import Normal, kl_divergence

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(8, 6), nn.Linear(3, 8)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
    patterns = torch.randn(3, 8)
    for step in range(80):
        x = torch.randn(32, 3) @ patterns
        mean, spread = encoder(x).chunk(2, dim=1)
        belief = Normal(mean, nn.functional.softplus(spread) + 1e-3)
        code = belief.sample()  # <- detached-graph
        divergence = kl_divergence(belief, Normal(torch.zeros(3), torch.ones(3))).sum(dim=1).mean()
        loss = nn.functional.mse_loss(decoder(code), x) + 1e-3 * divergence
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Linear(6, 16)
            self.head = nn.Linear(16, 3)

        def forward(self, x):
            hidden = torch.relu(self.encoder(x))
            return self.head(hidden / 2)


    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(40):
        x = torch.randn(32, 6)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    A frozen backbone whose parameters are not in the optimizer, a target network, and a straight-through code.

    ```python
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    backbone = nn.Linear(6, 8)
    online = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
    target = copy.deepcopy(online)
    optimizer = torch.optim.Adam(online.parameters(), lr=1e-2)
    for step in range(40):
        with torch.no_grad():
            features = backbone(torch.randn(32, 6))
        prediction = online(features)
        rounded = prediction + (prediction.round() - prediction).detach()
        loss = nn.functional.mse_loss(rounded, target(features).detach())
        print(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(target.parameters(), online.parameters()):
                slow.lerp_(fast, 0.05)
    ```

    ## Limits

    Only the first step of an optimizer is followed; parameters that get a gradient in a later step, or that the program
    itself changes, are left alone. A
    cut value that only meets another one with a graph, element by element, is a stop-gradient idiom and gets a note; so
    do loaded weights under `no_grad`.
    """

    name = "detached-graph"
    needs = frozenset({"graph"})
    every_phase = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for cut in trace.of(GraphCut):
            names = [name for name in cut.parameters if not _is_trained_otherwise(trace, cut, name)]
            if not names:
                continue
            shown = ", ".join(names[:MOST_NAMED]) + (
                f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            )
            verb = "gets" if len(names) == 1 else "get"
            what = "no parameter of the optimizer gets" if cut.whole else f"{shown} never {verb}"
            them = "it" if len(names) == 1 else "them"
            other = " other than 0" if cut.how == "flat" else ""
            yield Finding(
                detector=self.name,
                severity="note" if _is_wrong_model(trace, cut) else _severity(cut),
                message=f"the graph is cut here, so {what} a gradient{other}: {WORDS[cut.how]}",
                step=cut.step,
                rank=trace.rank,
                location=cut.location,
                evidence=(
                    Evidence(
                        f"used in the forward pass, held by the optimizer, and without gradient: {shown}",
                        value=float(len(names)),
                        step=cut.step,
                    ),
                    Evidence(
                        f"the first operation that no longer knew {them} is {_plain(cut.op)}",
                        step=cut.step,
                    ),
                ),
                fixes=(Fix(CURES[cut.how], safety="show-only"),),
            )

        yield from self._draws(trace)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from graphs.kept(finding, source)
        yield from graphs.drawn_with_derivative(finding, source)

    def _draws(self, trace: Trace) -> Iterator[Finding]:
        """Tell of draws behind which some other term of the loss gives their mean a gradient."""
        lines = {cut.location.line for cut in trace.of(GraphCut) if cut.location is not None}
        for draw in draws_without_derivative(ForwardGraph(trace)):
            if draw.location is None or draw.location.line in lines:
                continue
            lines.add(draw.location.line)
            yield Finding(
                detector=self.name,
                severity="warning",
                message=(
                    "the graph is cut here: what was drawn has no derivative, so nothing that is computed from it "
                    "trains the mean and the spread it was drawn with"
                ),
                step=draw.step,
                rank=trace.rank,
                location=draw.location,
                evidence=(
                    Evidence(
                        "layers with weights work on what was drawn, and no log-probability of it is taken",
                        step=draw.step,
                    ),
                ),
                fixes=(Fix(CURES["draw"], safety="show-only"),),
            )


def _plain(op: str) -> str:
    """Return `div` for `aten.div.Tensor`; torch's own word for a new tensor says nothing to anybody."""
    name = op.split(".")[1] if op.count(".") else op
    if name == "_local_scalar_dense":
        return "item"
    return "the making of a new tensor" if name.startswith("lift_fresh") else name


def _severity(cut: GraphCut) -> Severity:
    if cut.whole:
        return "error"
    meant = cut.joins or (cut.how == "no-grad" and cut.loaded)
    return "note" if meant else "warning"


def _is_wrong_model(trace: Trace, cut: GraphCut) -> bool:
    """Tell whether nothing that the optimizer holds learns, and nobody holds what does: it was made for another."""
    if not cut.whole:
        return False
    return any(
        one.registered and one.training and one.model and one.written_by == "random"
        for census in trace.of(ParameterCensus)
        if census.optimizer == cut.optimizer
        for one in untrained(trace, census)
    )


def _is_trained_otherwise(trace: Trace, cut: GraphCut, name: str) -> bool:
    """Tell whether a parameter gets a gradient later, or changes without one: a moving average writes it."""
    seen = [
        (decode(sample.weight_rms[place]), decode(sample.gradient_rms[place]))
        for sample in trace.of(Weights)
        if sample.optimizer == cut.optimizer and name in sample.names
        for place in [sample.names.index(name)]
    ]
    decays = cut.how == "flat"  # a gradient of 0 is one, so weight decay and momentum go on
    return any(gradient > 0 or (weight != seen[0][0] and not decays) for weight, gradient in seen)
