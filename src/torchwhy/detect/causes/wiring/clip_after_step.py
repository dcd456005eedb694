"""Gradients are clipped when the step has already used them."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.cures import loops
from torchwhy.detect.edits import Source
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import CallSeen, StepCalls
from torchwhy.record.trace import Trace

ENOUGH_STEPS = 2  # of the first six


class ClipAfterStep(Detector):
    """Gradients are clipped after the step that used them, and then cleared.

    ## What it finds

    In the order of calls `clip_grad_norm_` or `clip_grad_value_` stands between a step and the `zero_grad` that
    follows, and no clipping stands between `backward` and the step.

    ## Why it breaks training

    The step took the gradients as they were; what is clipped afterwards is thrown away. The training has no
    protection against large gradients although the program looks as if it had.

    ## Broken

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(30):
        x = torch.randn(32, 4)
        loss = nn.functional.mse_loss(model(x), x.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)  # <- clip-after-step
    ```

    ```python
    import torch
    from torch import nn
    from torch.nn.utils import clip_grad_value_


    def update(model, optimizer, loss):
        loss.backward()
        optimizer.step()
        clip_grad_value_(model.parameters(), 0.5)  # <- clip-after-step
        optimizer.zero_grad()


    torch.manual_seed(0)
    model = nn.GRU(3, 8, batch_first=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(12):
        x = torch.randn(8, 10, 3)
        update(model, optimizer, (model(x)[0][:, -1].mean(dim=1) - x.mean(dim=(1, 2))).pow(2).mean())
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(30):
        x = torch.randn(32, 4)
        loss = nn.functional.mse_loss(model(x), x.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
    ```

    ## Lookalike

    One backward pass for two optimizers, whose gradients are clipped in turn; and a norm that is only measured.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    body = nn.Linear(4, 8)
    head = nn.Linear(8, 1)
    first = torch.optim.SGD(body.parameters(), lr=1e-2)
    second = torch.optim.Adam(head.parameters(), lr=1e-2)
    for step in range(20):
        x = torch.randn(32, 4)
        loss = nn.functional.mse_loss(head(torch.tanh(body(x))), x.sum(dim=1, keepdim=True))
        first.zero_grad()
        second.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(body.parameters(), 1.0)
        first.step()
        nn.utils.clip_grad_norm_(head.parameters(), 1.0)
        second.step()
        norm = nn.utils.clip_grad_norm_(body.parameters(), float("inf"))
    ```

    ## Limits

    The order of calls is known for the first six steps. Clipping by hand is not seen. Clipping before a GradScaler
    has unscaled the gradients is `clip-of-infinite-norm`. Where the program keeps the norm that the call returns, it
    may want nothing else: then it is a note.
    """

    name = "clip-after-step"
    needs = frozenset({"calls"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        # The first event holds what came before the first step, so a clip after a step shows from the second on.
        late = [
            (event.step, clip)
            for event in trace.of(StepCalls)[1:]
            if (clip := _late_clip(event.calls)) is not None
        ]
        if len(late) < ENOUGH_STEPS:
            return
        step, clip = late[0]
        yield Finding(
            detector=self.name,
            severity="note" if clip.used else "warning",
            message=(
                f"{clip.target} runs after the step that used the gradients, and "
                "before they are cleared: it clips nothing"
            ),
            step=max(step - 1, 0),
            rank=trace.rank,
            location=clip.location,
            evidence=(
                Evidence(
                    f"the order of calls is step, clip, zero_grad, backward, step in {len(late)} of the first steps",
                    value=float(len(late)),
                    step=step,
                ),
            ),
            fixes=(Fix("clip between loss.backward() and optimizer.step()", safety="show-only"),),
        )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from loops.move_before(finding, source, "step")


def _late_clip(calls: list[CallSeen]) -> CallSeen | None:
    """Return the clipping that comes before the gradients of this step are made, if it is the only one."""
    names = [call.name for call in calls]
    if names[-1:] != ["step"] or not {"clip", "zero_grad", "backward"} <= set(names):
        return None
    clip, clear, backward = (names.index(name) for name in ("clip", "zero_grad", "backward"))
    return calls[clip] if clip < clear < backward and "clip" not in names[backward:] else None
