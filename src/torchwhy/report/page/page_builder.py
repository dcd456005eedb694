"""Report + traces → the page as data. Pure: the same report and traces give the same page."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from torchwhy import __version__
from torchwhy.finding import Finding
from torchwhy.plain_data import dataclass
from torchwhy.record.crashes import Crash
from torchwhy.record.events import Birth, ExceptionSeen, RunEnded, RunStarted, SampleValues
from torchwhy.record.trace import Trace
from torchwhy.report.headlines import headline
from torchwhy.report.model import Report
from torchwhy.report.page.page_card import checks_shown, finding_shown
from torchwhy.report.page.page_curves import memory_curve, training_curves
from torchwhy.report.page.page_heat import heat_maps
from torchwhy.report.page.page_model import Lane, Page, Table
from torchwhy.report.page.page_source import listings_of, numbered, stops_of
from torchwhy.report.page.page_values import (
    operand_histograms,
    sample_pairs,
    tensors_of_crash,
    walk_of,
)
from torchwhy.report.plain_report import counted, nothing_found

MOST_LANES = 64
MOST_MARKS = 4  # of one kind in a lane
HAS_A_MOMENT = {"training-broke", "exception", "lost-batches"}  # effects that begin at a step


@dataclass(frozen=True)
class Setting:
    """Where the program ran, the name of the run, and whether values of the data may be shown."""

    directory: Path
    run: str = ""
    shows_data: bool = True


def build_page(report: Report, traces: Sequence[Trace], setting: Setting) -> Page:
    """Return the page of one run."""
    root = report.root_cause
    trace = _trace_of(root, traces)
    failed_at = _failed_at(root, trace)
    birth = None if root is None else _birth_of(root, trace)
    crash = None if root is None else _crash_of(root, trace)
    stops = [] if root is None else stops_of(root, birth, crash)
    shows_data = setting.shows_data
    title = "nothing found" if root is None else headline(root)
    command = shlex.join(report.command)
    return Page(
        title=f"torchwhy: {title}",
        headline=nothing_found(report) if root is None else title,
        outcome=report.outcome,
        command=command,
        steps=report.steps,
        root=None if root is None else finding_shown(report, root),
        listings=listings_of(stops, traces, setting.directory),
        stations=numbered(stops),
        others=tuple(finding_shown(report, one) for one in _others(report)),
        curves=training_curves(trace, failed_at) if trace is not None else (),
        heat_maps=heat_maps(trace) if trace is not None else (),
        histograms=operand_histograms(birth) if birth is not None and shows_data else (),
        samples=sample_pairs(_sample_values(trace)) if trace is not None and shows_data else (),
        memory=memory_curve(trace) if trace is not None else None,
        tables=_tables(crash),
        lanes=_lanes(traces),
        checks=checks_shown(report),
        keepsakes=report.keepsakes(f".torchwhy/runs/{setting.run or 'RUN'}/report.json"),
        notes=report.all_notes,
        environment=_environment(report, traces, setting),
    )


def _others(report: Report) -> Sequence[Finding]:
    return report.findings if report.root_cause is None else report.findings[1:]


def _trace_of(root: Finding | None, traces: Sequence[Trace]) -> Trace | None:
    """Return the trace of the rank with the root cause, or else of the first rank."""
    rank = 0 if root is None else root.rank
    same = [trace for trace in traces if trace.rank == rank]
    return next(iter(same or traces), None)


def _failed_at(root: Finding | None, trace: Trace | None) -> int | None:
    """Return the step to mark: that of the first alarm, or else that of the root cause."""
    if trace is not None and trace.alarms:
        return max(trace.alarms[0].step, 0)
    return root.step if root is not None and root.effect in HAS_A_MOMENT else None


def _birth_of(root: Finding, trace: Trace | None) -> Birth | None:
    """Return the birth behind the root cause: the one at its place, or else the first of its step."""
    if trace is None or root.scope != "training":
        return None
    births = [birth for birth in trace.births if root.step is None or birth.step == root.step]
    place = root.location
    here = [
        birth
        for birth in births
        if place is not None and birth.location is not None and birth.location.line == place.line
    ]
    return next(iter(here or births), None)


def _crash_of(root: Finding, trace: Trace | None) -> Crash | None:
    """Return the exception behind the root cause: the one at its symptom, or else one at its step."""
    if trace is None or root.effect not in ("exception", "lost-batches"):
        return None
    crashes = trace.of(Crash)
    at = root.symptom_at or root.location
    here = [
        crash
        for crash in crashes
        if at is not None and crash.location is not None and crash.location.line == at.line
    ]
    return next(iter(here or [crash for crash in crashes if crash.step == root.step]), None)


def _sample_values(trace: Trace) -> list[SampleValues]:
    rerun = [] if trace.rerun is None else trace.rerun.of(SampleValues)
    return rerun or trace.of(SampleValues)


def _tables(crash: Crash | None) -> tuple[Table, ...]:
    if crash is None:
        return ()
    return tuple(one for one in (tensors_of_crash(crash), walk_of(crash)) if one is not None)


def _lanes(traces: Sequence[Trace]) -> tuple[Lane, ...]:
    """Return one lane per rank if there are several."""
    if len(traces) < 2:
        return ()
    return tuple(
        Lane(
            trace.rank,
            _steps_made(trace),
            tuple(_failures_of(trace)),
        )
        for trace in traces[:MOST_LANES]
    )


def _steps_made(trace: Trace) -> int:
    return max((step.step for step in trace.steps), default=-1) + 1


def _failures_of(trace: Trace) -> Iterator[tuple[int, str]]:
    """Yield the moments at which a rank failed; one that left neither an exception nor an end was killed."""
    alarms, crashes = trace.alarms[:MOST_MARKS], trace.of(Crash)[:MOST_MARKS]
    noted = [one for one in trace.of(ExceptionSeen) if one.caught is False] if not crashes else []
    for alarm in alarms:
        yield max(alarm.step, 0), f"{alarm.what} not finite"
    errors: list[Crash | ExceptionSeen] = [*crashes, *noted[-1:]]
    for error in errors:
        yield max(error.step, 0), error.type
    is_known = alarms or crashes or noted or trace.of(RunEnded)
    if trace.exit_code is not None and not is_known:
        yield _steps_made(trace), "ended without an exception"


def _environment(
    report: Report, traces: Sequence[Trace], setting: Setting
) -> tuple[tuple[str, str], ...]:
    facts = [("command", shlex.join(report.command)), ("directory", str(setting.directory))]
    started = [event for trace in traces for event in trace.of(RunStarted)][:1]
    for one in started:
        facts += [("torch", one.torch), ("Python", one.python)]
        if one.world_size > 1:
            facts.append(("processes", str(one.world_size)))
    facts.append(("torchwhy", __version__))
    if setting.run:
        facts.append(("run", setting.run))
    facts.append(("watched", counted(report.steps)))
    if report.cost is not None:
        cost = report.cost
        facts.append(
            (
                "cost",
                f"watching took {cost.own_seconds:.1f} s of {cost.seconds:.1f} s ({cost.share:.1%})",
            )
        )
    return tuple(facts)
