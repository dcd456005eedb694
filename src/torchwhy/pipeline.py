"""The stages after the record, in order: traces → findings → story → report. They do not need torch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from torchwhy.detect.allowances import Allowances
from torchwhy.detect.checks.asking import checks_of
from torchwhy.detect.each_observation import findings_of
from torchwhy.detect.loop_positions import with_positions
from torchwhy.detect.registry import detectors_for, failures
from torchwhy.diagnosis import Diagnosis
from torchwhy.explain.culprit import failed_ranks, is_about_another, lead_with_culprit
from torchwhy.explain.cut_short_crashes import with_last_exception
from torchwhy.explain.rank_choice import MOST_JUDGED, first_failure, read_chosen
from torchwhy.explain.run_notes import (
    boot_failure,
    broken_off,
    ending_of,
    left_out,
    shows_itself,
    switched_off,
    why_no_training,
    why_nothing_was_seen,
)
from torchwhy.explain.silencing import Silencing, silence
from torchwhy.explain.standing_ranks import (
    lead_with_mismatch,
    lead_with_standstill,
    standing_notes,
)
from torchwhy.explain.story import tell
from torchwhy.finding import Finding, Silenced
from torchwhy.record.events import Alarm, RunEnded
from torchwhy.record.ranks.nodes import MOST_BYTES_IN_OUTLINE, Node, Ranks, read_nodes
from torchwhy.record.run_file import Run, read_run, read_traces, trace_files
from torchwhy.record.secrets import masked_command
from torchwhy.record.trace import Trace
from torchwhy.report.failed_ranks import FailedRanks
from torchwhy.report.kept_step import KeptStep, kept_of, skipped_of
from torchwhy.report.model import Cost, Report, build, read_report

LAST_RESORT = "unexplained-nonfinite"  # This detector reports what no other can explain.


class BareAlarm(Diagnosis):
    """A value that was not finite, in a run in which every cause failed that could explain it."""

    what: str
    names: list[str]
    message = "a {what} was not finite ({shown}), and no detector could explain it"

    @property
    def shown(self) -> str:
        """Return the first few names."""
        return ", ".join(self.names[:3]) or "no name"


class AllowedAlarm(Diagnosis):
    """A value that was not finite, whose cause the user allows."""

    what: str
    causes: list[str]
    message = "a {what} was not finite; what was found is silenced ({shown})"

    @property
    def shown(self) -> str:
        """Return the causes."""
        return ", ".join(self.causes)


def load(run_directory: str | os.PathLike[str]) -> Report:
    """Return the report of a recorded run: the stored one, or a new one if none was stored."""
    directory = Path(run_directory)
    stored = directory / "report.json"
    is_there = stored.exists() or stored.is_symlink()
    return read_report(stored) if is_there else diagnose(directory)


def diagnose(
    run_directory: Path,
    notes: Sequence[str] = (),
    *,
    allow: Sequence[str] = (),
    traces: Sequence[Trace] | None = None,
) -> Report:
    """Return the report of a run, from its traces; `notes` are added to the report's own.

    `allow` are causes to leave out, besides those that the run and the comments in its source allow. `traces` are
    those of all its ranks, if they have been read.
    """
    ranks = Ranks([Node(run_directory, read_run(run_directory))])
    if len(trace_files(run_directory, MOST_BYTES_IN_OUTLINE)) > MOST_JUDGED:
        read_chosen(ranks)
    else:
        everyone = read_traces(run_directory) if traces is None else list(traces)
        ranks.judged = ranks.everyone = everyone
    return _report_on(ranks, notes, allow)


def diagnose_nodes(
    folders: Sequence[Path], problems: Sequence[str] = (), *, allow: Sequence[str] = ()
) -> Report:
    """Return the one report of a job that recorded into several folders; `problems` are known already."""
    nodes, unreadable = read_nodes(folders)
    ranks = Ranks(nodes, problems=[*problems, *unreadable])
    read_chosen(ranks)
    return _report_on(ranks, (), allow)


def _report_on(ranks: Ranks, notes: Sequence[str], allow: Sequence[str]) -> Report:
    """Return the report of all ranks together."""
    run, traces, everyone = ranks.nodes[0].run, ranks.judged, ranks.everyone
    failed: dict[str, str] = {}
    unordered: list[str] = []
    silencing = _silenced(_findings_of(ranks, failed, unordered), run, traces, allow)
    steps = max((_steps_of(trace) for trace in everyone), default=0)
    unseen = [*ranks.problems, *_unwatched(ranks, steps=steps)]
    unseen += [note for trace in everyone for note in trace.damage]
    if traces and not steps and not silencing.kept and not silencing.silenced:
        unseen.append(why_no_training(ranks.nodes[0].folder, run))
    unseen += [*_blind_spots(everyone), *_not_judged(failed), *unordered]
    report = build(
        silencing.kept,
        command=masked_command(run.command),
        steps=steps,
        directory=Path(run.directory),
        notes=tuple(dict.fromkeys([*_endings(ranks, silencing.kept, steps=steps), *notes])),
        cost=_cost_of(everyone),
        unseen=tuple(dict.fromkeys(unseen)),
        kept=_kept_of(ranks),
        skipped=skipped_of(everyone),
        checks=checks_of(
            traces,
            silencing.kept,
            detectors=detectors_for(traces),
            failed=failed,
            silenced={one.detector for one in silencing.silenced},
        ),
        silenced=silencing.silenced,
    )
    first = failed_ranks(report.root_cause, everyone)
    if first is None:
        return report
    rank, host, followed = first
    return replace(report, failed_ranks=FailedRanks(rank, followed, len(everyone), host=host))


def _findings_of(ranks: Ranks, failed: dict[str, str], unordered: list[str]) -> list[Finding]:
    """Return the story of all ranks: what the rank that failed first shows leads."""
    findings: list[Finding] = []
    if len(ranks.judged) > 1:
        ranks.judged = [with_last_exception(trace) for trace in ranks.judged]
    for trace in sorted(ranks.judged, key=first_failure):
        findings += _without_echoes(examine(trace, failed, unordered), findings)
    findings += compare_ranks(ranks.judged, failed)
    findings = _without_needless_last_resort(findings)
    findings = lead_with_culprit(findings, ranks.judged, ranks.everyone)
    for node in ranks.nodes:
        findings = lead_with_mismatch(findings, node.folder)
        findings = lead_with_standstill(findings, node.folder)
    return findings


def _kept_of(ranks: Ranks) -> KeptStep | None:
    """Return what was kept of the failing step; with several folders, in the first that has it."""
    if len(ranks.nodes) == 1:
        return kept_of(ranks.judged, ranks.nodes[0].folder, Path(ranks.nodes[0].run.directory))
    kept = (kept_of(ranks.of(one), one.folder, Path(one.run.directory)) for one in ranks.nodes)
    return next((one for one in kept if one is not None), None)


def _endings(ranks: Ranks, findings: Sequence[Finding], *, steps: int) -> Iterator[str]:
    """Yield how the program ended on each node, and where its processes stood."""
    is_shown = shows_itself(ranks.everyone, steps=steps)
    for node in ranks.nodes:
        yield from ending_of(node.run, findings, shows_itself=is_shown)
        yield from standing_notes(node.folder)


def _silenced(
    findings: list[Finding], run: Run, traces: Sequence[Trace], allow: Sequence[str]
) -> Silencing:
    """Return the findings without the allowed ones; that training broke is told even if its cause is allowed."""
    allowances = Allowances((*run.allow, *allow), Path(run.directory)).with_comments_of(traces)
    result = silence(findings, allowances, traces)
    if not result.silenced or any(one.severity == "error" for one in result.kept):
        return result
    if run.on_failure == "stop":
        broken = (trace for trace in traces if any(map(_ends_training, trace.alarms)))
        result.kept[:0] = [_allowed_alarm(trace, result.silenced) for trace in islice(broken, 1)]
    return result


def _ends_training(alarm: Alarm) -> bool:
    return alarm.what not in ("evaluation", "value")


def _unwatched(ranks: Ranks, *, steps: int) -> Iterator[str]:
    """Yield what was not watched, and why."""
    for node in ranks.nodes:
        if not ranks.everyone:
            yield why_nothing_was_seen(node.folder, node.run)
        elif (failure := boot_failure(node.folder)) is not None:
            yield f"torchwhy could not start in one of the processes {failure}"
        yield from broken_off(node.folder, steps)


def _blind_spots(traces: Sequence[Trace]) -> Iterator[str]:
    """Yield the probes that failed, and those that this torch or Python does not allow."""
    yield from switched_off(traces)
    yield from left_out(traces)


def _not_judged(failed: Mapping[str, str]) -> Iterator[str]:
    """Yield the detectors that failed, and the files of detectors that could not be imported."""
    for name, why in failed.items():
        yield f"the detector {name} failed and was skipped: {why}"
    for file, why in failures.items():
        yield f"the detector file {file} failed and was skipped: {why}"


def _cost_of(traces: Sequence[Trace]) -> Cost | None:
    """Return the cost of watching for the rank where it was highest, among the ranks that recorded their end."""
    endings = [event for trace in traces for event in trace.of(RunEnded)]
    if not endings:
        return None
    worst = max(endings, key=lambda event: event.own_seconds)
    return Cost(worst.own_seconds, worst.wall_seconds)


def examine(trace: Trace, failed: dict[str, str], unordered: list[str]) -> list[Finding]:
    """Return the story of one rank; `failed` gets each detector that failed, `unordered` why there is no story."""
    found: list[Finding] = []
    finished: set[str] = set()
    for name, detector in detectors_for([trace]).items():
        try:
            found += findings_of(detector(), trace)
            finished.add(name)
        except Exception as problem:
            failed[name] = _in_short(problem)
    if trace.alarms and not found and LAST_RESORT not in finished:
        found.append(_bare_alarm(trace))
    found = with_positions(found, trace)
    try:
        return tell(found, trace)
    except Exception as problem:
        unordered.append(f"the findings are not ordered by cause: {_in_short(problem)}")
        return found


def compare_ranks(traces: Sequence[Trace], failed: dict[str, str]) -> list[Finding]:
    """Return what only several ranks together show; `failed` gets each detector that failed."""
    found: list[Finding] = []
    if len(traces) < 2:
        return found
    for name, detector in detectors_for(traces).items():
        try:
            found += detector().compare(traces)
        except Exception as problem:
            failed[name] = _in_short(problem)
    return found


def _in_short(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}"


def _bare_alarm(trace: Trace) -> Finding:
    """Return the alarm itself as a finding, because a failure must show even if no detector explains it."""
    alarm = trace.alarms[0]
    return _finding_of(alarm, trace, BareAlarm(what=alarm.what, names=alarm.names))


def _allowed_alarm(trace: Trace, silenced: Sequence[Silenced]) -> Finding:
    alarm = next(filter(_ends_training, trace.alarms))
    causes = sorted({one.detector for one in silenced})
    return _finding_of(alarm, trace, AllowedAlarm(what=alarm.what, causes=causes))


def _finding_of(alarm: Alarm, trace: Trace, diagnosis: Diagnosis) -> Finding:
    return Finding(
        detector=LAST_RESORT,
        severity="error",
        diagnosis=diagnosis,
        step=alarm.step,
        rank=trace.rank,
        location=alarm.location,
        effect="training-broke",
    )


def _without_echoes(findings: list[Finding], known: list[Finding]) -> Iterator[Finding]:
    """Return the findings without those that another rank has already: the same cause at the same place."""
    reported = {(finding.detector, finding.location) for finding in known}
    return (one for one in findings if (one.detector, one.location) not in reported)


def _without_needless_last_resort(findings: list[Finding]) -> list[Finding]:
    """Return the findings without the unexplained ones of a rank, if another rank explains the failure."""
    explaining = {
        f.rank
        for f in findings
        if f.severity == "error" and f.detector != LAST_RESORT and not is_about_another(f)
    }
    return [f for f in findings if f.detector != LAST_RESORT or not explaining - {f.rank}]


def _steps_of(trace: Trace) -> int:
    return max((step.step for step in trace.steps), default=-1) + 1
