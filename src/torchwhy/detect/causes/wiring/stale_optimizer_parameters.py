"""An optimizer that holds layers which are no longer in the model."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.cures import building
from torchwhy.detect.edits import Source
from torchwhy.detect.wiring import followed, joined_late, made, named, untrained, where
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import OptimizerMade
from torchwhy.record.learning import ParameterCensus, ParameterSeen
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import LateParameter, LateParameters


class StaleOptimizerParameters(Detector):
    """The optimizer holds parameters of layers that were replaced after it was made.

    ## What it finds

    Parameters in the optimizer that no model has and that never get a gradient, while parameters of the model get
    gradients, are in no optimizer and never change.

    ## Why it breaks training

    The optimizer was given the tensors, not their names. A layer that is put in later is trained by nobody, and the
    optimizer goes on to care for the one that was thrown away.

    ## Broken

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)  # <- stale-optimizer-parameters
    model[2] = nn.Linear(16, 3)
    for step in range(40):
        x = torch.randn(32, 6)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    The whole model is made anew:

    ```python
    import torch
    from torch import nn


    class Trainer:
        def __init__(self):
            self.model = self.make_model()
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)  # <- stale-optimizer-parameters

        def make_model(self):
            return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

        def reset(self):
            self.model = self.make_model()

        def fit(self, steps):
            for step in range(steps):
                x = torch.randn(32, 4)
                loss = nn.functional.mse_loss(self.model(x), x.sum(dim=1, keepdim=True))
                self.model.zero_grad()
                loss.backward()
                self.optimizer.step()


    torch.manual_seed(0)
    trainer = Trainer()
    trainer.reset()
    trainer.fit(40)
    ```

    The optimizer has the original, the copy is trained:

    ```python
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    template = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(template.parameters(), lr=1e-2)  # <- stale-optimizer-parameters
    model = copy.deepcopy(template)
    for step in range(40):
        x = torch.randn(32, 4)
        loss = nn.functional.mse_loss(model(x), x.sum(dim=1, keepdim=True))
        model.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 10))
    model[2] = nn.Linear(16, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(40):
        x = torch.randn(32, 6)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    The replaced layer is given to the optimizer as a group of its own.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model[2] = nn.Linear(16, 3)
    optimizer.add_param_group({"params": model[2].parameters(), "lr": 0.2})
    for step in range(40):
        x = torch.randn(32, 6)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    A layer that is replaced in the last steps of a run, between two looks at the model, is not seen.
    """

    name = "stale-optimizer-parameters"
    needs = frozenset({"census"})
    every_phase = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from self._of_censuses(trace)
        late = joined_late(trace)
        # An optimizer that was made between has a census of its own, and it tells more.
        if late is not None and not any(any(self._of_censuses(p)) for p in trace.later_looks):
            look, parameters = late
            own = [one for one in parameters if f"{one.model}.{one.name}" in look.replaced]
            if own:
                yield self._replaced(trace, look, own)

    def _of_censuses(self, trace: Trace) -> Iterator[Finding]:
        looks = followed(trace)
        for census in trace.of(ParameterCensus):
            waiting = [
                one
                for one in census.parameters
                if one.in_optimizer
                and one.requires_grad
                and one.gradient == "none"
                and one.name in looks
            ]
            idle = [one for one in waiting if not looks[one.name].gradient]
            dead = [one for one in idle if not one.registered]
            fresh = [
                one
                for one in untrained(trace, census)
                if one.registered and one.model and one.training
            ]
            if fresh and (dead or _is_other_model(census, idle, fresh)):
                yield self._finding(trace, census, dead or idle, fresh)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from building.build_optimizer_last(finding, source)

    def _finding(
        self,
        trace: Trace,
        census: ParameterCensus,
        dead: list[ParameterSeen],
        fresh: list[ParameterSeen],
    ) -> Finding:
        maker = made(trace, census.optimizer)
        kind = maker.kind if maker is not None else "the optimizer"
        gone = not dead[0].registered
        what = (
            "that no model has any more"
            if gone
            else f"of `{dead[0].model}`, which does not take part in training"
        )
        whose = "belong to no model" if gone else f"belong to `{dead[0].model}`"
        return Finding(
            detector=self.name,
            severity="error",
            message=f"{kind} does not know {named(fresh)} of `{fresh[0].model}`: it holds {len(dead)} tensors {what}",
            step=census.step,
            rank=trace.rank,
            location=maker.location if maker is not None else None,
            evidence=(
                Evidence(
                    f"{named(fresh)}{where(fresh[0].made_at)} get gradients, are in no optimizer and never change",
                    value=float(len(fresh)),
                    step=census.step,
                    location=fresh[0].made_at,
                ),
                Evidence(
                    f"{len(dead)} tensors in the optimizer, the first of shape {dead[0].shape}"
                    f"{where(dead[0].made_at)}, "
                    f"{whose} and never get a gradient",
                    value=float(len(dead)),
                    location=dead[0].made_at,
                ),
            ),
            fixes=(
                Fix("make the optimizer after the model has its final layers", safety="show-only"),
            ),
        )

    def _replaced(self, trace: Trace, look: LateParameters, late: list[LateParameter]) -> Finding:
        since = min(one.since for one in late)
        passes = max(one.passes for one in late)
        makers = [event.location for event in trace.of(OptimizerMade) if event.location is not None]
        return Finding(
            detector=self.name,
            severity="error",
            message=(
                f"{named(late)} of `{late[0].model}` took the place of others in the middle of training, and no "
                "optimizer holds them: it still holds the old ones, which no model has any more"
            ),
            step=since,
            rank=trace.rank,
            location=next(iter([*look.places[-1:], *makers]), None),
            evidence=(
                Evidence(
                    f"{len(late)} tensors that were not there at the first step have got gradients from {passes} "
                    "backward passes or more, and are unchanged, bit for bit",
                    value=float(passes),
                    step=look.step,
                ),
                *(
                    Evidence("the optimizer was made here, before they were", location=place)
                    for place in makers[:1]
                ),
            ),
            fixes=(
                Fix(
                    "after the exchange make the optimizer anew, or give it the new layer: "
                    'optimizer.add_param_group({"params": layer.parameters()})',
                    safety="show-only",
                ),
            ),
        )


def _is_other_model(
    census: ParameterCensus, idle: list[ParameterSeen], fresh: list[ParameterSeen]
) -> bool:
    """Tell whether all that the optimizer holds belongs to a twin of the model that is really used."""
    held = [one for one in census.parameters if one.in_optimizer and one.requires_grad]
    return len(idle) == len(held) and sorted(one.shape for one in idle) == sorted(
        one.shape for one in fresh
    )
