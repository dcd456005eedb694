"""A single sample goes where a batch is wanted."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.crashes import (
    BATCHED_MODEL,
    crashes,
    expression_of,
    finding_of,
    fixes_of,
    idea,
    input_named,
    is_in_loader,
    is_without_batch,
    layer_input,
    layer_of,
    loss_expression,
    operand_evidence,
    says,
    size,
    sizes,
    trials,
    walk_evidence,
)
from torchwhy.finding import Finding
from torchwhy.record.events import Crash, Trial
from torchwhy.record.trace import Trace

PATTERNS = (
    r"expected (\d)D (?:or (\d)D )?input \(got (\d)D input\)",
    r"Expected (\d)D \(unbatched\) or (\d)D \(batched\) input to \w+, but got input of size",
    r"Expected input to be 2D or 3D, got (\d)D",
    r"For unbatched 2-D input, hx (?:and cx )?should also be 2-D but got",
    r"non-empty (\d)D or (\d)D \(batch mode\) tensor expected for input",
    r"Expected (\d)D or (\d)D \(batch mode\) tensor",
)
RANGE = r"Dimension out of range \(expected to be in range of \[-1, 0\], but got 1\)"


class MissingBatchDimension(Detector):
    """A single sample goes where a batch of samples is wanted.

    ## What it finds

    A layer, loss or reduction that raised because its input has one dimension too few, and which goes through once
    the input is `unsqueeze(0)`-d: an image straight from the dataset, a state of an environment, a vector of scores.
    Also a linear layer behind a flattening: convolutions take a single image without a word, and the sizes go wrong
    only there. The whole model is then tried on a batch of one.

    ## Why it breaks training

    Most layers take the first dimension for the samples. Without it, batch normalisation and losses cannot know what
    to average over, and `dim=1` does not exist.

    ## Broken

    ```python
    import torch
    from torch import nn

    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    head = nn.Linear(4, 2)
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
    images = torch.randn(10, 1, 12, 12)
    for image in images:
        features = model(image)  # <- missing-batch-dimension
        loss = head(features).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    The score of one state against one action.

    ```python
    import torch
    from torch import nn

    policy = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(policy.parameters())
    for step in range(3):
        state = torch.randn(4)
        logits = policy(state)
        action = torch.tensor([1])
        loss = nn.functional.cross_entropy(logits, action)  # <- missing-batch-dimension
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn

    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    head = nn.Linear(4, 2)
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
    images = torch.randn(10, 1, 12, 12)
    for image in images:
        features = model(image.unsqueeze(0))
        loss = head(features).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    Layers and losses that take a single sample: a convolution, a linear layer, `cross_entropy` of one vector.

    ```python
    import torch
    from torch import nn

    conv = nn.Conv2d(1, 4, 3)
    head = nn.Linear(4, 3)
    optimizer = torch.optim.SGD([*conv.parameters(), *head.parameters()], lr=0.1)
    for image in torch.randn(5, 1, 12, 12):
        logits = head(conv(image).mean((1, 2)))
        loss = nn.functional.cross_entropy(logits, torch.tensor(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    A missing channel dimension is `channel-mismatch`. A layer that takes an unbatched input silently raises nothing.
    """

    name = "missing-batch-dimension"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if is_in_loader(crash):
                continue
            whole = next((one for one in trials(crash, BATCHED_MODEL) if one.worked), None)
            if whole is not None:
                yield _judge_model(trace, crash, whole)
            elif is_without_batch(crash) or _is_one_short(crash):
                yield _judge(trace, crash)


def _is_one_short(crash: Crash) -> bool:
    """Tell whether the message says that the input has too few dimensions, not too many."""
    if says(crash, RANGE):
        return any(len(tensor.shape) == 1 for tensor in (*crash.operands, *crash.inputs))
    found = next((match for pattern in PATTERNS if (match := says(crash, pattern))), None)
    if found is None:
        return False
    shape = crash.facts.get("layer_input")
    wanted = [int(number) for number in found.groups() if number]
    if isinstance(shape, list) and wanted:
        return len(shape) < max(wanted[:2])
    return True


def _judge_model(trace: Trace, crash: Crash, whole: Trial) -> Finding:
    """Return the finding of a model that took one sample for a batch and failed only behind its flattening."""
    name = whole.change.removesuffix(".unsqueeze(0)")
    shape = next((f" ({sizes(one.shape)})" for one in crash.walk if one.what == "input"), "")
    layer = layer_of(crash)
    at_layer = f", {layer.path} raises" if layer is not None else ""
    return finding_of(
        trace,
        crash,
        detector=MissingBatchDimension.name,
        message=f"{name}{shape} is one sample without a batch dimension: its first dimension is taken for the samples"
        f"{at_layer}; as a batch of one it goes through",
        evidence=[*walk_evidence(crash), *operand_evidence(crash)],
        location=whole.location,
        fixes=fixes_of(crash, BATCHED_MODEL),
    )


def _judge(trace: Trace, crash: Crash) -> Finding:
    name, tensor = layer_input(crash)
    loss_input = (
        input_named(crash, "input", "self") if tensor is None or is_without_batch(crash) else None
    )
    if loss_input is not None:
        name, tensor = loss_input.name, loss_input
    elif name == "its input" and crash.operands:
        name, tensor = crash.operands[0].name, crash.operands[0]
    layer = layer_of(crash)
    who = layer.path if layer is not None and "layer_input" in crash.facts else expression_of(crash)
    shape = f" ({size(tensor)})" if tensor is not None else ""
    return finding_of(
        trace,
        crash,
        detector=MissingBatchDimension.name,
        message=f"{name}{shape} is one sample without a batch dimension, and {who} wants a batch",
        evidence=[*operand_evidence(crash), *walk_evidence(crash)],
        location=loss_expression(crash),
        fixes=fixes_of(crash, "add-batch", "batch-of-one")
        or [
            idea(
                f"put the batch dimension in front with {name}.unsqueeze(0), or take the sample from a DataLoader"
            )
        ],
    )
