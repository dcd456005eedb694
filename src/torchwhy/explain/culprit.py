"""Findings of all ranks → the rank that failed first leads; what the others lost with it stands under it.

Order is by cause, never by time: the clocks of several machines differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from torchwhy.detect.causes.errors.unexplained_error import ENDINGS, UnexplainedError, diagnosed
from torchwhy.detect.views.crash.crash_view import all_crashes
from torchwhy.detect.views.crash.raised_errors import ChildEnded, LostPeer, Raised, RankGone
from torchwhy.diagnosis import Diagnosis
from torchwhy.explain.rank_choice import first_failure
from torchwhy.finding import Evidence, Finding, advice_of
from torchwhy.record.crashes import Crash
from torchwhy.record.events import ExceptionSeen, RunEnded
from torchwhy.record.ranks.nodes import named
from torchwhy.record.trace import Trace

RAISED_FIELDS = ("expression", "layer", "type", "torch_says", "in_worker", "known")
BROKE = ("training-broke", "exception")  # Effects that end a rank.
# Exceptions of a connection whose other end is gone: another rank, or the process that a loader's worker serves.
CONNECTION_ERRORS = ("BrokenPipeError", "ConnectionResetError", "ConnectionAbortedError")


def lead_with_culprit(
    findings: list[Finding], traces: Sequence[Trace], everyone: Sequence[Trace] = ()
) -> list[Finding]:
    """Return the findings with errors about other processes under the error that ended those.

    `traces` are the ranks that were judged, `everyone` all ranks if these are more.
    """
    if len(traces) < 2:
        return findings
    followers = [finding for finding in findings if is_about_another(finding)]
    others = [finding for finding in findings if not is_about_another(finding)]
    leader = next((one for one in others if one.effect in BROKE and one.severity == "error"), None)
    leader = leader or next(_plain_exceptions(sorted(traces, key=first_failure)), None)
    if leader is None:
        if not followers:
            return findings
        followers.sort(
            key=lambda one: isinstance(one.diagnosis, LostPeer)
        )  # A lost worker is nearer.
        leader, *followers = [_with_silent_ranks(one, everyone or traces) for one in followers]
        leader = _about_gone_rank(leader, everyone or traces)
    led = replace(leader, explains=(*leader.explains, *followers))
    return [led, *(one for one in others if one is not leader)]


def is_about_another(finding: Finding) -> bool:
    """Tell whether a finding is an exception that another process caused by ending."""
    return _follows(finding.diagnosis)


def _follows(diagnosis: Diagnosis) -> bool:
    if isinstance(diagnosis, (LostPeer, ChildEnded)):
        return True
    return isinstance(diagnosis, Raised) and diagnosis.type in CONNECTION_ERRORS


def _plain_exceptions(traces: Sequence[Trace]) -> Iterator[Finding]:
    """Yield the exceptions that ended a rank and need no cause: alone, their traceback would say it all."""
    for trace in traces:
        for crash in all_crashes(trace):
            if crash.event.caught or crash.event.type in ENDINGS or _follows(diagnosed(crash)):
                continue
            found = crash.finding(
                UnexplainedError.name,
                diagnosed(crash),
                evidence=list(crash.walk_evidence),
                location=crash.place("forward"),
            )
            yield replace(found, effect="exception")


def _with_silent_ranks(finding: Finding, traces: Sequence[Trace]) -> Finding:
    """Return a finding about a lost rank with the ranks that ended without an exception as evidence."""
    places: dict[tuple[bool, str], list[int]] = {}
    for trace in _together(traces):
        if trace.rank != finding.rank and _has_no_error(trace):
            key = (bool(trace.of(RunEnded)), _where(trace))
            places.setdefault(key, []).append(trace.rank)
    evidence = [
        Evidence(
            f"{named(ranks)} ended by {_themselves(ranks)}, without an exception, {where}"
            if in_order
            else f"{named(ranks)} left no exception; {_whose(ranks)} {where}"
        )
        for (in_order, where), ranks in places.items()
    ]
    return replace(finding, evidence=(*finding.evidence, *evidence))


def _about_gone_rank(finding: Finding, traces: Sequence[Trace]) -> Finding:
    """Return a finding about a lost rank as one of that rank, if only one left no exception."""
    lost, silent = finding.diagnosis, [one for one in _together(traces) if _has_no_error(one)]
    if len(silent) != 1 or type(lost) is not LostPeer:
        return finding
    (gone,) = silent
    known = {name: getattr(lost, name) for name in RAISED_FIELDS}
    diagnosis = RankGone(
        **known,
        rank=finding.rank,
        gone=gone.rank,
        in_order=bool(gone.of(RunEnded)),
        after=_where(gone),
    )
    return replace(finding, diagnosis=diagnosis, rank=gone.rank, fixes=advice_of(diagnosis))


def _together(traces: Sequence[Trace]) -> list[Trace]:
    """Return the ranks that trained together; a process that only started them is none of them."""
    size = max(trace.world_size for trace in traces)
    return [trace for trace in traces if trace.world_size == size]


def _themselves(ranks: Sequence[int]) -> str:
    return "itself" if len(ranks) == 1 else "themselves"


def _whose(ranks: Sequence[int]) -> str:
    return "its recording ends" if len(ranks) == 1 else "their recordings end"


def failed_ranks(root: Finding | None, traces: Sequence[Trace]) -> tuple[int, str, int] | None:
    """Return the rank that failed first, its machine if there are several, and how many others failed as well."""
    if len(traces) < 2 or root is None or root.effect not in BROKE or root.severity != "error":
        return None
    hosts = {trace.host for trace in traces}
    own = next((trace.host for trace in traces if trace.rank == root.rank), "")
    size = max(
        trace.world_size for trace in traces
    )  # A process that only started ranks is none of them.
    together = [trace for trace in traces if trace.world_size == size]
    followed = {trace.rank for trace in together if _failed(trace)} - {root.rank}
    return root.rank, own if len(hosts) > 1 else "", len(followed)


def _failed(trace: Trace) -> bool:
    """Tell whether a rank raised, found a bad step, or ended without a word in a run that has ended."""
    raised = [one.caught for one in trace.of(Crash)]
    raised += [one.caught is not False for one in trace.of(ExceptionSeen)]
    if trace.alarms or not all(raised):
        return True
    return trace.exit_code is not None and not trace.of(RunEnded)


def _has_no_error(trace: Trace) -> bool:
    return not any((trace.of(ExceptionSeen), trace.of(Crash), trace.alarms))


def _where(trace: Trace) -> str:
    last = max((step.step for step in trace.steps), default=None)
    return "before its first step" if last is None else f"after step {last}"
