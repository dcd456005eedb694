"""Weights or buffers that were bad before the program computed anything with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.births import finding_from
from torchwhy.detect.sources import is_about_weights, sources, where_it_went, word
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.trace import Trace


class NonfiniteWeights(Detector):
    """A parameter or buffer already held a NaN or an infinity before the step began.

    ## What it finds

    A weight or a buffer (a running mean, say) that is not finite when the step begins, although no update
    of this run wrote it: it was loaded, or set from outside of torch.

    ## Why it breaks training

    A model that starts with one NaN weight gives NaN for every sample. Checkpoints saved a few steps after
    a run went wrong look normal until they are used.

    ## Broken

    ```python
    import numpy as np
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 2)
    last_night = {name: value.clone() for name, value in model.state_dict().items()}
    last_night["weight"].numpy()[1, 2] = np.nan  # stands for a run that went wrong
    torch.save(last_night, "last.pt")

    model.load_state_dict(torch.load("last.pt"))  # <- nonfinite-weights
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(5):
        loss = model(torch.randn(8, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import numpy as np
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 2)
    last_night = {name: value.clone() for name, value in model.state_dict().items()}
    torch.save(last_night, "good.pt")
    last_night["weight"].numpy()[1, 2] = np.nan
    torch.save(last_night, "last.pt")

    state = torch.load("last.pt")
    if not all(value.isfinite().all() for value in state.values()):
        state = torch.load("good.pt")
    model.load_state_dict(state)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(5):
        loss = model(torch.randn(8, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    A buffer that holds -inf on purpose, as the mask of an attention:

    ```python
    import torch
    from torch import nn


    class Causal(nn.Module):
        def __init__(self):
            super().__init__()
            self.project = nn.Linear(4, 4)
            self.register_buffer("mask", torch.full((6, 6), float("-inf")).triu(1))

        def forward(self, x):
            h = self.project(x)
            return torch.softmax(h @ h.transpose(1, 2) + self.mask, dim=-1) @ h


    torch.manual_seed(0)
    model = Causal()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(5):
        loss = model(torch.randn(3, 6, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    Weights that this run itself spoiled are told at what spoiled them.
    """

    name = "nonfinite-weights"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for birth in sources(trace, "parameter", "buffer", "array", "unknown"):
            if is_about_weights(trace, birth) and not _written_by_this_run(trace, birth):
                yield self._finding(trace, birth)

    def _finding(self, trace: Trace, birth: Birth) -> Finding:
        value = word(birth.value)
        name = _name(trace, birth)
        message = f"{name} already held {value} when step {birth.step} began; it went into {where_it_went(birth)}"
        evidence = [
            Evidence(
                f"no update of this run wrote {value} into {name}",
                value=birth.value,
                step=birth.step,
            )
        ]
        title = f"load a checkpoint from before {name} went bad, or set it anew; check it with `torch.isfinite`"
        if _is_state(birth):
            title = (
                "load an optimizer state from before it went bad, or start with a fresh optimizer"
            )
        found = finding_from(trace, birth, detector=self.name, message=message, evidence=evidence)
        return replace(found, fixes=(Fix(title, safety="show-only"),))


def _name(trace: Trace, birth: Birth) -> str:
    """Return the weight by its own name, or by the one under which it was found bad."""
    if _is_state(birth):
        return "the optimizer's state"
    kind = "buffer" if birth.origin == "buffer" else "parameter"
    found = [name for alarm in trace.alarms[:1] for name in alarm.names]
    own = birth.origin_name if birth.origin in ("parameter", "buffer") else None
    name = own or (found[0] if found else None)
    return f"{kind} `{name}`" if name else f"a {kind}"


def _is_state(birth: Birth) -> bool:
    """Tell whether an update came upon the value: what it reads besides weights and gradients is its own memory."""
    return birth.phase == "update" and birth.origin in ("array", "unknown")


def _written_by_this_run(trace: Trace, birth: Birth) -> bool:
    return bool(birth.parents) or any(
        earlier.phase == "update" and (earlier.step, earlier.order) < (birth.step, birth.order)
        for earlier in trace.births
    )
