"""Gradient clipping with a norm that is infinite, or that still holds the loss scale."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.births import all_births, finding_from, op_name
from torchwhy.detect.cures import loops
from torchwhy.detect.edits import Source
from torchwhy.detect.sources import word
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth, GradientsClipped
from torchwhy.record.trace import Trace

NORMS = frozenset({"norm", "linalg_vector_norm", "_foreach_norm"})


class ClipOfInfiniteNorm(Detector):
    """Gradients were clipped by a norm that is infinite, or that still contains the loss scale.

    ## What it finds

    `clip_grad_norm_` whose norm is infinite: finite gradients whose squares leave the range of their dtype,
    or an infinite gradient (then its own birth is drawn as the cause). Also `clip_grad_norm_` under a
    `GradScaler` before `unscale_`, where the norm is that of the scaled gradients.

    ## Why it breaks training

    Clipping multiplies every gradient by `max_norm / norm`. With an infinite norm that is 0: all gradients
    vanish, and an infinite one becomes 0 * inf = NaN. Before `unscale_` the norm is too large by the loss
    scale (65536 at the start), so that every step is clipped to almost nothing.

    ## Broken

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(5):
        x = torch.randn(8, 4)
        loss = ((model(x) - 1) * 1e12).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # <- clip-of-infinite-norm
        optimizer.step()
    ```

    Clipping before `unscale_`:

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    for step in range(5):
        x = torch.randn(8, 4)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = (model(x) - 1).float().pow(2).mean()
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # <- clip-of-infinite-norm
        scaler.step(optimizer)
        scaler.update()
    ```

    ## Repaired

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(5):
        x = torch.randn(8, 4)
        loss = (model(x) - 1).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    ```

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    for step in range(5):
        x = torch.randn(8, 4)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = (model(x) - 1).float().pow(2).mean()
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    ```

    ## Lookalike

    Large gradients that are clipped as they should be:

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(5):
        x = torch.randn(8, 4) * 1e5
        loss = (model(x) - 1).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
        optimizer.step()
    ```

    ## Limits

    An overflow of the norm is seen on steps under the microscope: the first, and any that raised an alarm.
    """

    name = "clip-of-infinite-norm"
    needs = frozenset({"birth", "clip"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        overflowed = set()
        for birth in all_births(trace):
            if birth.phase != "clip":
                continue
            if (
                birth.kind == "operation"
                and op_name(birth) in NORMS
                and birth.step not in overflowed
            ):
                overflowed.add(birth.step)
                yield self._overflow(trace, birth)
            elif birth.kind == "from-infinity" and birth.reaches:
                yield self._spread(trace, birth)
        scaled = next((clip for clip in trace.of(GradientsClipped) if clip.scaled), None)
        if scaled is not None:
            yield self._scaled(trace, scaled)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from loops.unscale_first(finding, source)

    def _overflow(self, trace: Trace, birth: Birth) -> Finding:
        message = (
            "the norm of the gradients is infinite although every gradient is finite: their squares overflow, "
            "and clipping then multiplies all of them by 0"
        )
        evidence = [
            Evidence("all gradients finite, their norm is not", value=birth.value, step=birth.step)
        ]
        title = "find why the gradients are this large (scale of the loss, the targets, the inputs) before clipping"
        found = finding_from(trace, birth, detector=self.name, message=message, evidence=evidence)
        return replace(found, fixes=(Fix(title, safety="show-only"),))

    def _spread(self, trace: Trace, birth: Birth) -> Finding:
        message = "clipping by an infinite norm turned an infinite gradient into NaN (0 * inf) and all others into 0"
        fact = f"the gradient was infinite before clipping, {word(birth.value)} after it"
        evidence = [Evidence(fact, step=birth.step)]
        title = "clip with `error_if_nonfinite=True`, and skip the step when the norm is not finite"
        found = finding_from(trace, birth, detector=self.name, message=message, evidence=evidence)
        return replace(found, fixes=(Fix(title, safety="show-only"),))

    def _scaled(self, trace: Trace, clip: GradientsClipped) -> Finding:
        return Finding(
            detector=self.name,
            severity="warning",
            message=(
                "gradients are clipped before `unscale_`: their norm still contains the loss scale, "
                "so that nearly nothing is left of them"
            ),
            step=clip.step,
            rank=trace.rank,
            location=clip.location,
            evidence=(
                Evidence(
                    "the loss scale was still in the gradients when they were clipped",
                    step=clip.step,
                ),
            ),
            fixes=(Fix("call `scaler.unscale_(optimizer)` before clipping", safety="show-only"),),
        )
