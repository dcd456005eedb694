"""The questions of a run: what can be asked of a trace, and what keeps one from being asked."""

from __future__ import annotations

import pytest

from tests.detect.helpers import alarm, optimizer, trace_with
from tests.support.findings import said
from torchwhy.detect.checks.asking import checks_of
from torchwhy.detect.checks.question_list import all_questions
from torchwhy.detect.registry import all_detectors
from torchwhy.finding import Finding
from torchwhy.question import Check
from torchwhy.record.events import (
    ExceptionSeen,
    LeftOut,
    MicroscopeLeft,
    MissingFeature,
    ProbeFailed,
    RunStarted,
)
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import LookedAt, SchedulerSeen

FALLING = [1.0 / (step + 1) for step in range(60)]


def asked(*traces: Trace, findings: list[Finding] | None = None, failed: tuple[str, ...] = ()):
    checks = checks_of(traces, findings or [], detectors=all_detectors(), failed=failed)
    return {check.question.slug: check for check in checks}


def outcome(check: Check) -> tuple[str, bool]:
    return check.answer, check.is_blind


def test_every_cause_answers_a_question_and_wiring_and_dynamics_choose_their_own():
    undeclared = [
        name
        for name, detector in all_detectors().items()
        if (".wiring." in detector.__module__ or ".dynamics." in detector.__module__)
        and detector.question is None
    ]

    assert undeclared == []
    assert {one.answers() for one in all_detectors().values()} <= set(all_questions())


def test_a_question_is_asked_once_its_facts_are_recorded():
    checks = asked(trace_with(optimizer(), losses=FALLING))

    assert checks["finite-numbers"].answer == "yes"
    assert checks["loss-falls"].answer == "yes"
    assert checks["loss-falls"].measured is not None
    assert (
        checks["loss-falls"].measured.facts()["first"]
        > checks["loss-falls"].measured.facts()["last"]
    )
    assert outcome(checks["schedule"]) == ("could-not-ask", False)
    assert checks["schedule"].reason == "the program never changes a learning rate"


def test_a_run_too_short_for_progress_is_not_said_to_learn():
    check = asked(trace_with(optimizer(), losses=[1.0, 0.5]))["loss-falls"]

    assert outcome(check) == ("could-not-ask", False)
    assert check.reason == "fewer than 40 losses were seen"


def test_a_finding_answers_no_and_a_note_only_names_its_cause():
    trace = trace_with(optimizer(), losses=FALLING)
    stuck = Finding("stuck-loss", "warning", said("x"))
    note = Finding("overfitting", "note", said("x"))
    root = Finding("unscaled-inputs", "error", said("x"), explains=(stuck,))

    checks = asked(trace, findings=[root, note])

    assert (checks["usual-sizes"].answer, checks["usual-sizes"].causes) == (
        "no",
        ("unscaled-inputs",),
    )
    assert (checks["loss-falls"].answer, checks["loss-falls"].causes) == ("no", ("stuck-loss",))
    assert checks["evaluation-follows"].answer != "no"
    assert checks["evaluation-follows"].causes == ("overfitting",)


@pytest.mark.parametrize(
    ("probe", "blind", "still_asked"),
    [
        ("step probe", "finite-numbers", "no-exceptions"),
        ("mode probe", "training-mode", "finite-numbers"),
        ("holdings probe", "memory-bounded", "loss-falls"),
        ("exception watch", "no-exceptions", "finite-numbers"),
        ("call order probe", "schedule", "loss-falls"),
        ("weights probe", "kept-weights", "loss-falls"),
    ],
)
def test_a_question_whose_probe_died_was_not_asked(probe, blind, still_asked):
    scheduler = SchedulerSeen(index=0, kind="StepLR", step=1)
    loads = LookedAt(what="loaded weights", times=1)
    died = ProbeFailed(probe=probe, reason="KeyError: 1")

    checks = asked(trace_with(optimizer(), scheduler, loads, died, losses=FALLING))

    assert outcome(checks[blind]) == ("could-not-ask", True)
    assert checks[blind].reason == f"the {probe} failed"
    assert checks[still_asked].answer == "yes"


def test_a_probe_that_this_torch_does_not_allow_leaves_its_question_unasked():
    lacking = MissingFeature(feature="x", names=["torch._x"], lost="y", left_out=["mode probe"])
    started = RunStarted(
        schema=1,
        pid=1,
        rank=0,
        world_size=1,
        argv=[],
        directory="/",
        python="3",
        torch="2",
        started_unix_seconds=0.0,
        missing=[lacking],
    )

    check = asked(trace_with(started, losses=FALLING))["training-mode"]

    assert outcome(check) == ("could-not-ask", True)
    assert check.reason == "the mode probe is off: torch._x is missing"


def test_a_compiled_program_is_not_said_to_be_wired_rightly():
    left = MicroscopeLeft(step=0, reason="x", operations=0, seconds=0.0, compiled=True)

    checks = asked(trace_with(optimizer(), left, losses=FALLING))

    for slug in ("parameters-train", "loss-fits-output", "samples-stand-alone", "training-mode"):
        assert outcome(checks[slug]) == ("could-not-ask", True)
        assert checks[slug].reason == "the program compiles its model, so no step was observed"


def test_after_a_failure_the_loss_is_not_said_to_fall():
    checks = asked(trace_with(optimizer(), alarm(60), losses=FALLING))

    assert checks["loss-falls"].reason == "the run broke before"


def test_a_failed_cause_leaves_its_question_unasked():
    check = asked(trace_with(optimizer(), losses=FALLING), failed=("stuck-loss",))["loss-falls"]

    assert outcome(check) == ("could-not-ask", True)
    assert check.reason == "the detector stuck-loss failed"


def test_a_question_about_facts_that_were_left_out_was_not_asked():
    left = LeftOut(step=0, what="parameters", kept=4000)

    check = asked(trace_with(optimizer(), left, losses=FALLING))["parameters-train"]

    assert outcome(check) == ("could-not-ask", True)
    assert check.reason == "the record holds only 4000 parameters of this model"


def test_an_exception_that_no_cause_explains_still_answers_no():
    seen = ExceptionSeen(step=3, type="KeyError", message="'x'", caught=False)

    check = asked(trace_with(seen, losses=FALLING))["no-exceptions"]

    assert check.answer == "no"
    assert check.measured is not None
    assert check.measured.sentence == "KeyError: 'x'"


def test_one_rank_that_evaluates_suffices_but_one_blind_rank_spoils_the_answer():
    quiet = trace_with(optimizer(), losses=FALLING)
    scheduled = trace_with(
        optimizer(), SchedulerSeen(index=0, kind="StepLR", step=1), losses=FALLING
    )
    blind = trace_with(
        optimizer(), ProbeFailed(probe="call order probe", reason="x"), losses=FALLING
    )

    assert asked(quiet, scheduled)["schedule"].answer == "yes"
    assert outcome(asked(scheduled, blind)["schedule"]) == ("could-not-ask", True)


def test_without_a_trace_no_question_was_asked():
    checks = asked()

    assert {outcome(check) for check in checks.values()} == {("could-not-ask", True)}
