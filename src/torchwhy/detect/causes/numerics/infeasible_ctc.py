"""A CTC loss whose targets cannot fit into their inputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.births import finding_from, operations, show, value_at_born
from torchwhy.detect.cures import samples
from torchwhy.detect.edits import Source
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.trace import Trace


class InfeasibleCtc(Detector):
    """A CTC loss was asked to fit a target into an input that is too short for it.

    ## What it finds

    `ctc_loss` that gave an infinite loss for finite log-probabilities: the target is longer than the input,
    or has repeated labels, each of which needs a blank in between.

    ## Why it breaks training

    No alignment exists, so the probability of the target is 0 and its loss is inf; the gradient is NaN. One
    such pair in a batch is enough, and downsampling in the network makes inputs shorter than they look.

    ## Broken

    ```python
    import torch
    import torch.nn.functional as F

    torch.manual_seed(0)
    model = torch.nn.Linear(6, 5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(8):
        frames = torch.randn(10, 3, 6)
        log_probabilities = model(frames).log_softmax(2)
        targets = torch.randint(1, 5, (3, 12))
        target_lengths = torch.tensor([3, 4, 12 if step == 5 else 2])
        input_lengths = torch.full((3,), 10)
        loss = F.ctc_loss(log_probabilities, targets, input_lengths, target_lengths)  # <- infeasible-ctc
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    A module, lengths as tuples, and a target of repeated labels that needs a blank between each two:

    ```python
    import torch
    from torch import nn


    class Recogniser(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode = nn.Conv1d(4, 6, kernel_size=3, stride=2, padding=1)
            self.criterion = nn.CTCLoss()

        def forward(self, sound, text, text_lengths):
            hidden = self.encode(sound).permute(2, 0, 1).log_softmax(2)
            lengths = (hidden.shape[0],) * sound.shape[0]
            return self.criterion(hidden, text, lengths, text_lengths)  # <- infeasible-ctc


    torch.manual_seed(0)
    model = Recogniser()
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(4):
        sound = torch.randn(2, 4, 12)
        text = torch.tensor([[1, 2, 3, 4], [5, 5, 5, 5]])
        loss = model(sound, text, (4, 2 if step < 2 else 4))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import torch
    import torch.nn.functional as F

    torch.manual_seed(0)
    model = torch.nn.Linear(6, 5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(8):
        frames = torch.randn(10, 3, 6)
        log_probabilities = model(frames).log_softmax(2)
        targets = torch.randint(1, 5, (3, 12))
        target_lengths = torch.tensor([3, 4, 12 if step == 5 else 2])
        input_lengths = torch.full((3,), 10)
        loss = F.ctc_loss(log_probabilities, targets, input_lengths, target_lengths, zero_infinity=True)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    Targets that just fit, and a target of length 0:

    ```python
    import torch
    import torch.nn.functional as F

    torch.manual_seed(0)
    model = torch.nn.Linear(6, 5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(6):
        log_probabilities = model(torch.randn(5, 3, 6)).log_softmax(2)
        targets = torch.tensor([[1, 2, 3, 4, 1], [1, 1, 1, 0, 0], [0, 0, 0, 0, 0]])
        loss = F.ctc_loss(log_probabilities, targets, torch.tensor([5, 5, 5]), torch.tensor([5, 3, 0]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    Log-probabilities that already hold -inf are the work of something before the loss, and told there.
    """

    name = "infeasible-ctc"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for birth in operations(trace, "_ctc_loss", "ctc_loss", "_cudnn_ctc_loss"):
            yield self._finding(trace, birth)

    def _finding(self, trace: Trace, birth: Birth) -> Finding:
        frames, labels = _length(birth, "input_lengths"), _length(birth, "target_lengths")
        position = (birth.output.first_bad_index if birth.output else None) or birth.positions
        which = f"sample {position[0]}" if position else "a sample"
        known = frames is not None and labels is not None
        sizes = f" ({show(labels)} labels, {show(frames)} frames)" if known else ""
        message = (
            f"the target of {which} does not fit into its input{sizes}: no alignment exists, "
            "so its CTC loss is infinite"
        )
        evidence = [Evidence(f"target and input of {which}{sizes}", step=birth.step)]
        if frames is not None and labels is not None and labels <= frames:
            blank = "every pair of equal neighbours in a target needs one more frame, for the blank"
            evidence.append(Evidence(blank, step=birth.step))
        title = "drop pairs whose target needs more frames than the network gives, or pass `zero_infinity=True`"
        found = finding_from(trace, birth, detector=self.name, message=message, evidence=evidence)
        return replace(found, fixes=(Fix(title, safety="show-only"),))

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from samples.zero_infinity(finding, source)
        yield from samples.skip_bad_batch(finding, source)


def _length(birth: Birth, argument: str) -> float | None:
    for operand in birth.operands:
        if operand.argument == argument:
            return value_at_born(operand)
    return None
