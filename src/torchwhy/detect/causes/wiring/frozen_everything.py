"""The part that should learn is frozen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.cures import statements
from torchwhy.detect.edits import Source
from torchwhy.detect.wiring import (
    followed,
    held_before,
    held_by,
    made,
    named,
    output_module,
    statements_found,
)
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.learning import ParameterCensus, ParameterSeen
from torchwhy.record.trace import Trace

PLAIN = (
    "Linear",
    "Conv",
    "LSTM",
    "GRU",
    "RNN",
    "BatchNorm",
    "LayerNorm",
    "GroupNorm",
    "Bilinear",
)  # layers of torch
ADDED = (
    "adapter",
    "lora",
    "prompt",
    "prefix",
)  # names of what is trained inside of a frozen model on purpose


class FrozenEverything(Detector):
    """The parameters that should learn do not require gradients.

    ## What it finds

    One of four facts at an optimizer's first step: all parameters it holds are frozen; a layer with fresh random
    values is frozen and used while loaded weights of the same model train; in a model without loaded weights,
    the output layer is frozen at random values while layers before it train; or an optimizer that is made in a later
    phase is given more of a model than the one before it, and all that is new to it is frozen still (a note: it may
    be meant).

    ## Why it breaks training

    A random layer that is frozen stays random. The rest has to arrange itself around noise, or nothing learns at
    all. Usually the layer was replaced before a loop froze everything, or the wrong name was thawed.

    ## Broken

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    pretrained = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 10))
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 10))
    model.load_state_dict(pretrained.state_dict())
    model[2] = nn.Linear(16, 3)
    for name, parameter in model.named_parameters():
        parameter.requires_grad = name.startswith("0.")  # <- frozen-everything
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(40):
        x = torch.randn(32, 8)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    The loss is forced to have a gradient, which then reaches nobody:

    ```python
    import torch
    from torch import nn


    def freeze(model):
        for parameter in model.parameters():
            parameter.requires_grad_(False)  # <- frozen-everything


    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    freeze(model)
    for step in range(40):
        x = torch.randn(32, 8)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(dim=1))
        loss.requires_grad = True
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    pretrained = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 10))
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 10))
    model.load_state_dict(pretrained.state_dict())
    for parameter in model.parameters():
        parameter.requires_grad = False
    model[2] = nn.Linear(16, 3)
    optimizer = torch.optim.Adam(model[2].parameters(), lr=1e-2)
    for step in range(40):
        x = torch.randn(32, 8)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    Random features that are fixed on purpose under a head that learns.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    features = nn.Linear(8, 64)
    features.requires_grad_(False)
    model = nn.Sequential(features, nn.ReLU(), nn.Linear(64, 3))
    optimizer = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), lr=1e-2)
    for step in range(40):
        x = torch.randn(32, 8)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    A game in which the judge is frozen while the other one learns.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
    judge = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=1e-3)
    optimizer_j = torch.optim.Adam(judge.parameters(), lr=1e-3)
    score = nn.BCEWithLogitsLoss()
    for step in range(30):
        for parameter in judge.parameters():
            parameter.requires_grad = False
        optimizer_g.zero_grad()
        fake = generator(torch.randn(32, 2))
        score(judge(fake), torch.ones(32, 1)).backward()
        optimizer_g.step()
        for parameter in judge.parameters():
            parameter.requires_grad = True
        optimizer_j.zero_grad()
        real = torch.randn(32, 2) * 0.5 + 1
        both = torch.cat([judge(real), judge(fake.detach())])
        score(both, torch.cat([torch.ones(32, 1), torch.zeros(32, 1)])).backward()
        optimizer_j.step()
    ```

    ## Limits

    torch does not tell who froze a parameter: the line is found in the source, the last statement that sets
    `requires_grad` to something other than True. Layers that are added to a frozen model (adapters, prompts) are
    told apart by their names and classes.
    """

    name = "frozen-everything"
    needs = frozenset({"census"})
    every_phase = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for census in trace.of(ParameterCensus):
            held = [one for one in census.parameters if one.in_optimizer]
            if held and not any(one.requires_grad for one in held):
                yield self._finding(
                    trace,
                    census,
                    "every parameter of the optimizer is frozen: nothing learns",
                    held,
                    [],
                )
                return
            for model in dict.fromkeys(one.model for one in census.parameters if one.model):
                own = [one for one in census.parameters if one.model == model]
                yield from self._judge_model(trace, census, own)
            if census.look:
                yield from self._judge_later(trace, census)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from statements.unfrozen(finding, source)

    def _judge_later(self, trace: Trace, census: ParameterCensus) -> Iterator[Finding]:
        """Judge an optimizer that is given what the one before it left out, and finds that frozen still."""
        given, before = held_by(trace, census.optimizer), held_before(trace, census)
        own = [one for one in census.parameters if one.name in given]
        training = [one for one in own if one.requires_grad and one.gradient == "nonzero"]
        added = [one for one in own if one.name not in before]
        models = {one.model for one in training}
        frozen = [
            one
            for one in added
            if not one.requires_grad and one.used and one.name not in followed(trace)
        ]
        is_same = all(one.name in before for one in training)
        if frozen and training and is_same and all(one.model in models for one in frozen):
            message = (
                f"this optimizer is given {named(frozen)} besides what was trained before, but they are still "
                "frozen: it trains the same as the one before it"
            )
            maker = made(trace, census.optimizer)
            yield replace(
                self._finding(trace, census, message, frozen, training),
                # All parameters of a model are handed over by habit, too, where a part is to stay as it is.
                severity="note",
                location=maker.location if maker is not None else None,
                fixes=(
                    Fix(
                        "if they are to learn, set requires_grad to True before it is made",
                        safety="show-only",
                    ),
                ),
            )

    def _judge_model(
        self, trace: Trace, census: ParameterCensus, own: list[ParameterSeen]
    ) -> Iterator[Finding]:
        frozen = [
            one for one in own if not one.requires_grad and one.used and one.written_by == "random"
        ]
        training = [
            one
            for one in own
            if one.in_optimizer and one.requires_grad and one.gradient == "nonzero"
        ]
        if not frozen or not training:
            return
        if all(one.written_by == "loaded" for one in training):
            message = f"the new layer is frozen, the loaded weights train: {named(frozen)} keep their random values"
            yield self._finding(trace, census, message, frozen, training)
            return
        last = output_module(trace, census)
        head = [one for one in frozen if one.module == last]
        loaded = any(one.written_by == "loaded" for one in own)
        if head and not loaded and all(_is_plain(one) for one in (*head, *training)):
            message = f"the output layer is frozen at random values ({named(head)}), while layers before it train"
            yield self._finding(trace, census, message, head, training)

    def _finding(
        self,
        trace: Trace,
        census: ParameterCensus,
        message: str,
        frozen: list[ParameterSeen],
        training: list[ParameterSeen],
    ) -> Finding:
        trained = (
            f"in the optimizer, these train: {named(training)}"
            if training
            else "in the optimizer, none trains"
        )
        return Finding(
            detector=self.name,
            severity="error",
            message=message,
            step=census.step,
            rank=trace.rank,
            location=_place(trace, census),
            evidence=(
                Evidence(
                    f"{len(frozen)} tensors are used and do not require gradients: {named(frozen)}",
                    value=float(len(frozen)),
                    step=census.step,
                    location=frozen[0].made_at,
                ),
                Evidence(trained, value=float(len(training))),
            ),
            fixes=(
                Fix(
                    "freeze before the new layer is put in, or set its requires_grad to True",
                    safety="show-only",
                ),
            ),
        )


def _place(trace: Trace, census: ParameterCensus) -> SourceSpan | None:
    freezes = statements_found(trace).freezes
    if freezes:
        return freezes[-1]
    maker = made(trace, census.optimizer)
    return maker.location if maker is not None else None


def _is_plain(one: ParameterSeen) -> bool:
    """Tell whether a parameter belongs to an ordinary layer, not to something added to a frozen model."""
    return (one.owner or "").startswith(PLAIN) and not any(
        word in one.name.lower() for word in ADDED
    )
