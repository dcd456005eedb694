"""Adds epoch and batch to the findings about a step for which they were recorded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from torchwhy.finding import Finding, LoopPosition
from torchwhy.record.inputs.data_events import PositionSeen
from torchwhy.record.trace import Trace


def with_positions(findings: Iterable[Finding], trace: Trace) -> list[Finding]:
    """Return the findings, with the position of their step where it is known."""
    known = {
        one.step: LoopPosition(one.epoch, one.batch, one.first_batch)
        for one in trace.of(PositionSeen)
    }
    return [
        replace(one, position=known.get(one.step)) if one.step is not None else one
        for one in findings
    ]
