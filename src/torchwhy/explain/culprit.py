"""Findings of all ranks → the rank that failed first leads; what the others lost with it stands under it.

Order is by cause, never by time: the clocks of several machines differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from torchwhy.detect.views.crash.raised_errors import ChildEnded, LostPeer, Raised
from torchwhy.finding import Evidence, Finding
from torchwhy.record.crashes import Crash
from torchwhy.record.events import ExceptionSeen, RunEnded
from torchwhy.record.trace import Trace

BROKE = ("training-broke", "exception")  # Effects that end a rank.
# Exceptions of a connection whose other end is gone: another rank, or the process that a loader's worker serves.
CONNECTION_ERRORS = ("BrokenPipeError", "ConnectionResetError", "ConnectionAbortedError")


def lead_with_culprit(findings: list[Finding], traces: Sequence[Trace]) -> list[Finding]:
    """Return the findings with errors about other processes under the error that ended those."""
    followers = [finding for finding in findings if is_about_another(finding)]
    leader = next(
        (one for one in findings if one.effect in BROKE and not is_about_another(one)), None
    )
    if not followers or len(traces) < 2:
        return findings
    if leader is None:
        first, *others = [_with_silent_ranks(one, traces) for one in followers]
        kept = [finding for finding in findings if finding not in followers]
        return [replace(first, explains=(*first.explains, *others)), *kept]
    below = tuple(one for one in followers if one.rank != leader.rank or one is not leader)
    led = replace(leader, explains=(*leader.explains, *below))
    kept = [one for one in findings if one is not leader and one not in followers]
    return [led, *kept]


def is_about_another(finding: Finding) -> bool:
    """Tell whether a finding is an exception that another process caused by ending."""
    diagnosis = finding.diagnosis
    if isinstance(diagnosis, (LostPeer, ChildEnded)):
        return True
    return isinstance(diagnosis, Raised) and diagnosis.type in CONNECTION_ERRORS


def _with_silent_ranks(finding: Finding, traces: Sequence[Trace]) -> Finding:
    """Return a finding about a lost rank with the ranks that ended without an exception as evidence."""
    silent = [trace for trace in traces if trace.rank != finding.rank and _ended_silently(trace)]
    evidence = [
        Evidence(
            f"rank {trace.rank} left no exception; its recording ends {_where(trace)}",
            step=max((step.step for step in trace.steps), default=None),
        )
        for trace in silent
    ]
    return replace(finding, evidence=(*finding.evidence, *evidence))


def _ended_silently(trace: Trace) -> bool:
    told = (trace.of(RunEnded), trace.of(ExceptionSeen), trace.of(Crash), trace.alarms)
    return not any(told)


def _where(trace: Trace) -> str:
    last = max((step.step for step in trace.steps), default=None)
    return "before its first step" if last is None else f"after step {last}"
