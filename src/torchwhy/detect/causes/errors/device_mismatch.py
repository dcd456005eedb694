from __future__ import annotations

import re
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.views.crash.crash_facts import (
    at,
    crashes,
    expression_of,
    finding_of,
    fixes_of,
    idea,
    is_in_loader,
    layer_input,
    layer_of,
    layer_words,
    operand_evidence,
    says,
    walk_evidence,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Crash, NamedTensor
from torchwhy.record.trace import Trace

PATTERNS = (
    r"Expected all tensors to be on the same device",
    r"Tensor on device \S+ is not on the expected device \S+",
    r"Input type \(torch\.(?:cuda\.)?\w+\) and weight type \(torch\.(?:cuda\.)?\w+\) should be the same",
    r"tensor for argument #\d+ '\w+' is on \w+, but expected",
    r"can't convert \w+(?::\d+)? device type tensor to numpy",
    r"[Ii]ndices should be either on cpu or on the same device",
    r"Placeholder storage has not been allocated on",
    r"to have (?:cpu|cuda|mps|meta) device, but got",
)
TO_NUMPY = r"can't convert (\S+) device type tensor to numpy"
DEVICES = r"(cuda:\d+|cuda|mps(?::\d+)?|xpu(?::\d+)?|meta|cpu)"


class DeviceMismatch(Detector):
    """Tensors on different devices meet in one operation."""

    name = "device-mismatch"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if is_in_loader(crash) or not any(says(crash, pattern) for pattern in PATTERNS):
                continue
            if (
                says(crash, PATTERNS[2])
                and "cuda" not in crash.message
                and "mps" not in crash.message
            ):
                continue
            yield _judge(trace, crash)


def _judge(trace: Trace, crash: Crash) -> Finding:
    converted = says(crash, TO_NUMPY)
    layer = layer_of(crash)
    odd, device = _odd_one(crash)
    if converted is not None:
        name = crash.operands[0].name if crash.operands else "the tensor"
        message = (
            f"{name} is on {converted[1]}, and {expression_of(crash)} wants it in the CPU's memory"
        )
        fixes = [idea(f"fetch it first: {name}.detach().cpu()")]
    else:
        who = (
            f"{layer.path} is"
            if layer is not None and "layer_input" in crash.facts
            else "the others are"
        )
        name = odd.name if odd is not None else "one tensor"
        there = odd.device if odd is not None else "another device"
        message = (
            f"{name} is on {there}, but {who} on {device}: {expression_of(crash)} wants one device"
        )
        fixes = _fixes(crash, odd, device)
    evidence = (
        [Evidence(f"{layer_words(layer)}{at(layer.made_at)}")]
        if layer is not None and layer.made_at
        else []
    )
    return finding_of(
        trace,
        crash,
        detector=DeviceMismatch.name,
        message=message,
        evidence=[*_source(odd), *evidence, *operand_evidence(crash), *walk_evidence(crash)],
        fixes=fixes,
    )


def _odd_one(crash: Crash) -> tuple[NamedTensor | None, str]:
    """Return the tensor to move and the device of the others: weights stay where they are."""
    name, given = layer_input(crash)
    if given is not None and name == "its input":
        given = next((tensor for tensor in crash.operands if tensor.device == given.device), given)
    tensors = [*crash.operands, *crash.inputs]
    weights = [tensor.device for tensor in tensors if tensor.kind == "parameter"]
    weights += [str(crash.facts["layer_device"])] if "layer_device" in crash.facts else []
    if given is not None:
        other = next((device for device in weights if device != given.device), None)
        return given, other or _other_device(crash, given.device)
    common = weights or [tensor.device for tensor in tensors if tensor.device != "cpu"] or ["cpu"]
    odd = next((tensor for tensor in tensors if tensor.device != common[0] and tensor.shape), None)
    return odd, common[0]


def _other_device(crash: Crash, own: str) -> str:
    named = re.findall(DEVICES, crash.message)
    return next((device for device in named if device != own), "another device")


def _source(odd: NamedTensor | None) -> list[Evidence]:
    if (
        odd is None
        or odd.made_by is None
        or odd.made_by.expression in (None, odd.name)
        or odd.origin == "batch"
    ):
        return []
    return [Evidence(f"{odd.name} is made by {odd.made_by.expression}{at(odd.made_by)}")]


def _fixes(crash: Crash, odd: NamedTensor | None, device: str) -> list[Fix]:
    moved = fixes_of(crash, "move-tensor")
    if odd is None:
        return moved
    ideas = [idea(f"move it: {odd.name}.to({device!r})")] if not moved else []
    if odd.name.startswith("self."):
        attribute = odd.name.removeprefix("self.")
        ideas.append(
            idea(
                f"register it, so that it moves with the model: self.register_buffer({attribute!r}, …)"
            )
        )
    return [*moved, *ideas]
