"""Traces and findings → checks. The causes say which question they answer and which facts they need for it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.asked_question import StandingQuestion
from torchwhy.detect.checks.question_list import all_questions
from torchwhy.detect.checks.recorded_facts import Need, Obstacle
from torchwhy.detect.checks.standing_questions import OTHER
from torchwhy.finding import Finding
from torchwhy.question import Check
from torchwhy.record.events import LeftOut, Recorded
from torchwhy.record.learning import Experiment
from torchwhy.record.trace import Trace

NOTHING_WATCHED = "nothing was watched"


def checks_of(
    traces: Sequence[Trace],
    findings: Sequence[Finding],
    *,
    detectors: Mapping[str, type[Detector]],
    failed: Collection[str] = (),
    silenced: Collection[str] = (),
) -> tuple[Check, ...]:
    """Return every question with its answer for all ranks together.

    `failed` names the causes that could not judge, `silenced` those that found something which the user allows.
    """
    found = {one.detector for one in _all(findings) if one.severity != "note"}
    noted = {one.detector for one in _all(findings)}
    by_question: dict[int, dict[str, type[Detector]]] = {}
    for name, one in detectors.items():
        by_question.setdefault(id(one.answers()), {})[name] = one
    checks = []
    for asked in all_questions():
        own = by_question.get(id(asked), {})
        if (own or asked is not OTHER) and _is_for(asked, traces):
            causes = tuple(sorted(noted & set(own)))
            allowed = sorted(set(silenced) & set(own))
            denied = [fact for trace in traces if (fact := asked.denied(trace)) is not None]
            if allowed and not found & set(own):
                answer = Check(asked.question, "could-not-ask", reason=f"{allowed[0]} is allowed")
            elif found & set(own) or denied:
                answer = Check(asked.question, "no", measured=denied[0] if denied else None)
            else:
                answer = _answer(asked, traces, own, failed)
            checks.append(replace(answer, causes=causes))
    return tuple(checks)


def _is_for(asked: StandingQuestion, traces: Sequence[Trace]) -> bool:
    """Tell whether a run lists a question: those of `torchwhy check` are for its rehearsals."""
    if not asked.in_rehearsal:
        return True
    slug = asked.question.slug
    return any(one.question == slug for trace in traces for one in trace.of(Experiment))


def _answer(
    asked: StandingQuestion,
    traces: Sequence[Trace],
    detectors: Mapping[str, type[Detector]],
    failed: Collection[str],
) -> Check:
    """Return yes if a rank has all facts and no rank is blind for one of them, else why the question was not asked."""
    if not traces:
        return Check(asked.question, "could-not-ask", reason=NOTHING_WATCHED, is_blind=True)
    broken = sorted(set(failed) & set(detectors))
    if broken:
        reason = f"the detector {broken[0]} failed"
        return Check(asked.question, "could-not-ask", reason=reason, is_blind=True)
    needs = list(dict.fromkeys([*asked.needs, *(n for d in detectors.values() for n in d.needs)]))
    in_full = {what for detector in detectors.values() for what in detector.needs_all}
    obstacles = [_left_out(in_full, trace) or _obstacle(needs, trace) for trace in traces]
    blind = next((one for one in obstacles if one is not None and one.is_blind), None)
    answering = [t for t, one in zip(traces, obstacles, strict=True) if one is None]
    if blind is not None or not answering:
        obstacle = blind or obstacles[0]
        assert obstacle is not None, "without an answering trace each has an obstacle"
        return Check(
            asked.question,
            "could-not-ask",
            measured=asked.measure(traces[0]) if obstacle.is_measured else None,
            reason=obstacle.reason,
            is_blind=obstacle.is_blind,
        )
    return Check(asked.question, "yes", measured=asked.measure(answering[0]))


def _obstacle(needs: Sequence[Need], trace: Trace) -> Obstacle | None:
    """Return what keeps a question from being asked of a trace; our own blindness before what the program lacks."""
    found = [one for need in needs if (one := need.obstacle(trace)) is not None]
    return next((one for one in found if one.is_blind), found[0] if found else None)


def _left_out(in_full: Collection[Recorded], trace: Trace) -> Obstacle | None:
    """Return the obstacle that a large model has more than the record holds."""
    left = next((one for one in trace.of(LeftOut) if one.what in in_full), None)
    if left is None:
        return None
    return Obstacle(f"the record holds only {left.kept} {left.what} of this model", is_blind=True)


def _all(findings: Sequence[Finding]) -> Iterator[Finding]:
    for finding in findings:
        yield finding
        yield from _all(finding.explains)
