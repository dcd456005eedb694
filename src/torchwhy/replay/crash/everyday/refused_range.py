"""Measures the values that a distribution refuses."""

from __future__ import annotations

import torch

from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame
from torchwhy.replay.crash.hidden.hidden_facts import HiddenFacts

DISTRIBUTION = "torch.distributions.distribution"


def note_refused_range(frames: list[TracebackFrame], hidden: HiddenFacts) -> None:
    """Note the parameter (or value) of a distribution that is out of range: how many elements, and their range."""
    last = frames[-1] if frames else None
    if last is None or last.globals.get("__name__") != DISTRIBUTION:
        return
    value, valid = last.variables.get("value"), last.variables.get("valid")
    if not isinstance(value, torch.Tensor) or not isinstance(valid, torch.Tensor):
        return
    numbers = value.detach()
    finite = numbers[numbers.isfinite()] if numbers.is_floating_point() else numbers
    if not finite.numel():
        return
    name = last.variables.get("param")
    hidden.facts["refused"] = name if isinstance(name, str) else "value"
    hidden.facts["refused_by"] = type(last.variables.get("self")).__name__
    limits = last.variables.get("constraint") or last.variables.get("support")
    hidden.facts["refused_constraint"] = str(limits)
    hidden.facts["refused_count"] = float((~valid).sum().item())
    hidden.facts["refused_of"] = float(valid.numel())
    hidden.facts["refused_each"] = float(value.numel() // max(valid.numel(), 1))
    hidden.facts["refused_nonfinite"] = float(numbers.numel() - finite.numel())
    lowest, highest = torch.aminmax(finite)
    hidden.facts.update(refused_minimum=float(lowest.item()), refused_maximum=float(highest.item()))
