"""A softmax over a row that holds nothing but -inf."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.births import finding_from, op_name, tensors
from torchwhy.detect.cures import data, samples
from torchwhy.detect.edits import Source
from torchwhy.detect.sources import expression_of
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.trace import Trace

SOFTMAXES = frozenset(
    {"softmax", "_softmax", "log_softmax", "_log_softmax", "_safe_softmax", "_masked_softmax"}
)
ATTENTIONS = (
    "scaled_dot_product",
    "_transformer_encoder_layer_fwd",
    "_native_multi_head_attention",
)


class FullyMaskedSoftmax(Detector):
    """A softmax was taken over a row in which every position is masked.

    ## What it finds

    `softmax`, `log_softmax` or a fused attention that got a row of nothing but -inf, and whose NaN reached
    the loss, a gradient or a weight. Typical: a sequence of length 0 in the batch, a padding mask the wrong
    way round, a causal mask combined with a padding mask on the left.

    ## Why it breaks training

    A softmax subtracts the largest entry of the row. With every entry at -inf that is -inf - (-inf) = NaN,
    for the whole row. Attention multiplies the row with all values, so the sample is lost, then the loss.

    ## Broken

    ```python
    import torch

    torch.manual_seed(0)
    embed = torch.nn.Linear(6, 8)
    optimizer = torch.optim.Adam(embed.parameters(), lr=1e-2)
    for step in range(12):
        x = torch.randn(4, 5, 6)
        lengths = torch.tensor([5, 3, 4, 0 if step == 7 else 2])
        keep = torch.arange(5)[None, :] < lengths[:, None]
        h = embed(x)
        scores = (h @ h.transpose(1, 2)).masked_fill(~keep[:, None, :], float("-inf"))
        attention = torch.softmax(scores / 8**0.5, dim=-1)  # <- fully-masked-softmax
        loss = (attention @ h).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    A padding mask in which True means "keep", given to a layer for which True means "ignore":

    ```python
    import torch
    from torch import nn


    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
            self.head = nn.Linear(8, 1)

        def forward(self, x, padding):
            mixed, weights = self.attention(x, x, x, key_padding_mask=padding)  # <- fully-masked-softmax
            return self.head(mixed.mean(1)), weights


    torch.manual_seed(0)
    model = Encoder()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(5):
        x = torch.randn(3, 4, 8)
        keep = torch.arange(4)[None, :] < torch.tensor([4, 2, 3])[:, None]
        prediction, _ = model(x, keep)
        loss = (prediction - 1).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    `log_softmax` over the allowed actions of a game in which one state allows none:

    ```python
    import torch

    torch.manual_seed(0)
    policy = torch.nn.Linear(5, 4)
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.05)
    for step in range(6):
        states = torch.randn(3, 5)
        allowed = torch.tensor([[1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 0, int(step < 4)]]).bool()
        logits = policy(states)
        logits[~allowed] = -torch.inf
        log_probabilities = torch.log_softmax(logits, dim=1)  # <- fully-masked-softmax
        loss = -log_probabilities.amax(dim=1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import torch

    torch.manual_seed(0)
    embed = torch.nn.Linear(6, 8)
    optimizer = torch.optim.Adam(embed.parameters(), lr=1e-2)
    for step in range(12):
        x = torch.randn(4, 5, 6)
        lengths = torch.tensor([5, 3, 4, 0 if step == 7 else 2])
        keep = torch.arange(5)[None, :] < lengths[:, None].clamp(min=1)
        h = embed(x)
        scores = (h @ h.transpose(1, 2)).masked_fill(~keep[:, None, :], float("-inf"))
        attention = torch.softmax(scores / 8**0.5, dim=-1)
        loss = (attention @ h).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    A causal mask with -inf: every row keeps at least its own position, and softmax turns -inf into 0.

    ```python
    import torch

    torch.manual_seed(0)
    embed = torch.nn.Linear(6, 8)
    optimizer = torch.optim.Adam(embed.parameters(), lr=1e-2)
    mask = torch.full((5, 5), float("-inf")).triu(1)
    for step in range(8):
        x = torch.randn(4, 5, 6)
        h = embed(x)
        attention = torch.softmax(h @ h.transpose(1, 2) + mask, dim=-1)
        loss = (attention @ h).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    A fully masked row in `scaled_dot_product_attention`, which gives 0 for it since torch 2.5:

    ```python
    import torch
    import torch.nn.functional as F

    torch.manual_seed(0)
    embed = torch.nn.Linear(6, 8)
    optimizer = torch.optim.Adam(embed.parameters(), lr=1e-2)
    for step in range(5):
        h = embed(torch.randn(2, 5, 6))
        keep = torch.ones(2, 5, 5, dtype=torch.bool)
        keep[1] = False
        mixed = F.scaled_dot_product_attention(h, h, h, attn_mask=keep)
        loss = (mixed - 1).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    A row of -inf that the network itself computed, and no mask put there, is reported as well: the message
    then names the operand and its birth is drawn as the cause.
    """

    name = "fully-masked-softmax"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for birth in trace.births:
            if birth.kind == "from-infinity" and birth.fully_infinite_row and _is_softmax(birth):
                yield self._finding(trace, birth)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from data.finite_mask(source)
        yield from samples.open_row(finding, source)
        yield from data.other_mask(finding, source)
        yield from samples.skip_bad_batch(finding, source)

    def _finding(self, trace: Trace, birth: Birth) -> Finding:
        operand = next(iter(tensors(birth)), None)
        scores = operand.name if operand is not None and operand.name else "its scores"
        message = (
            f"{expression_of(birth, 'the softmax')} got a row{_row(birth)} in which every position is masked: "
            f"all of {scores} is -inf there, and the softmax of such a row is NaN"
        )
        evidence = [
            Evidence(f"a row of {scores} holds nothing but -inf", value="-inf", step=birth.step)
        ]
        title = (
            f"leave at least one position of every row open before the softmax of {scores}: drop empty samples, "
            "clamp the lengths to 1, or check that True means in the mask what the layer takes it to mean"
        )
        found = finding_from(trace, birth, detector=self.name, message=message, evidence=evidence)
        return replace(found, fixes=(Fix(title, safety="show-only"),))


def _is_softmax(birth: Birth) -> bool:
    name = op_name(birth)
    return name in SOFTMAXES or any(attention in name for attention in ATTENTIONS)


def _row(birth: Birth) -> str:
    """Return which row it was; not known where other rows rightly hold -inf, as after `log_softmax`."""
    output = birth.output
    if output is None or output.negative_infinity or len(output.first_bad_index or []) < 2:
        return ""
    return f" (row {(output.first_bad_index or [])[:-1]})"
