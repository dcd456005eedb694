"""Traces → findings → story → report, when parts of it fail or are missing."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.findings import said
from tests.support.recording import alarm, birth, steps
from torchwhy import pipeline
from torchwhy.detect.base import Detector
from torchwhy.explain.run_notes import isolating_flag
from torchwhy.finding import Finding
from torchwhy.pipeline import LAST_RESORT, _without_needless_last_resort, diagnose
from torchwhy.record.events import MissingFeature, ProbeFailed, Replayed, RunStarted
from torchwhy.record.run_file import Run, read_traces, write_run
from torchwhy.record.trace import Trace
from torchwhy.replay.step.rerun_parent import needs_rerun, seconds_to_failure


class Crashing(Detector):
    """Fails on every trace."""

    name = "crashing"

    def scan(self, trace):
        yield from ()
        raise KeyError("broken detector")


class Barking(Detector):
    """Reports every trace."""

    name = "barking"

    def scan(self, trace):
        yield Finding("barking", "warning", said(f"rank {trace.rank} barks"), rank=trace.rank)


@pytest.fixture
def recorded(tmp_path):
    def record(*ranks, **ending):
        write_run(tmp_path, Run(("train.py",), str(tmp_path), **ending))
        for number, events in enumerate(ranks):
            lines = b"\n".join(msgspec.json.encode(event) for event in events)
            (tmp_path / f"rank{number}.jsonl").write_bytes(lines + b"\n")
        return tmp_path

    return record


def use(monkeypatch, *detectors):
    monkeypatch.setattr(
        pipeline, "detectors_for", lambda _: {detector.name: detector for detector in detectors}
    )


def test_a_detector_that_fails_is_left_out_and_named(recorded, monkeypatch):
    use(monkeypatch, Crashing, Barking)

    report = diagnose(recorded(steps(3), exit_code=0))

    assert [finding.detector for finding in report.findings] == ["barking"]
    assert report.unseen == (
        "the detector crashing failed and was skipped: KeyError: 'broken detector'",
    )


def test_a_story_that_fails_leaves_the_findings(recorded, monkeypatch):
    use(monkeypatch, Barking)

    def fail(findings, trace):
        raise ValueError("lost the thread")

    monkeypatch.setattr(pipeline, "tell", fail)

    report = diagnose(recorded(steps(3), exit_code=0))

    assert report.outcome == "suspect"
    assert "lost the thread" in report.unseen[0]


def test_an_alarm_is_visible_even_when_no_detector_works(recorded, monkeypatch):
    use(monkeypatch, Crashing)

    report = diagnose(recorded([*steps(3), alarm(2)]))

    assert report.outcome == "failed"
    assert report.root_cause.detector == "unexplained-nonfinite"
    assert report.root_cause.step == 2


def test_the_rank_that_failed_first_is_told_first_and_echoes_are_dropped(recorded):
    late = [*steps(9), alarm(8), birth(8), Replayed(step=8, how="in-place", reproduced=True)]
    early = [*steps(5), alarm(4), birth(4), Replayed(step=4, how="in-place", reproduced=True)]

    report = diagnose(recorded(late, early))

    assert (report.root_cause.rank, report.root_cause.step) == (1, 4)
    assert [one.detector for one in report.findings].count("log-of-nonpositive") == 1
    assert report.steps == 9


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        ({"exit_code": 137, "signal": 9}, "SIGKILL"),
        ({"exit_code": 130, "signal": 2}, "interrupted from the keyboard"),
        ({"exit_code": 139, "signal": 11}, "SIGSEGV"),
        ({"exit_code": 3}, "exit code 3"),
        ({}, "has not ended"),
    ],
)
def test_the_way_a_program_ended_is_noted(recorded, ending, words):
    report = diagnose(recorded(steps(3), **ending))

    assert report.outcome == "healthy"
    assert words in report.notes[0]


def test_a_probe_that_was_switched_off_is_noted(recorded):
    report = diagnose(
        recorded([*steps(2), ProbeFailed(probe="loss probe", reason="KeyError: 1")], exit_code=0)
    )

    assert report.unseen == ("the loss probe failed and was switched off: KeyError: 1",)


def started_without(**missing):
    """Return the first line of a trace whose torch lacks something."""
    return RunStarted(
        schema=1,
        pid=7,
        rank=0,
        world_size=1,
        argv=["train.py"],
        directory=".",
        python="3.19.0",
        torch="2.99.0",
        started_unix_seconds=0.0,
        missing=[MissingFeature(feature="engine", **missing)],
    )


def test_what_this_torch_lacks_is_noted_once_for_all_ranks(recorded):
    lacking = started_without(names=["torch._C._x"], lost="losses are not recorded")
    report = diagnose(recorded([lacking, *steps(2)], [lacking, *steps(2)], exit_code=0))

    assert report.unseen == ("torch 2.99.0 lacks `torch._C._x`: losses are not recorded.",)


def test_what_this_python_lacks_is_told_of_python(recorded):
    lacking = started_without(names=["warnings._show"], lost="warnings are not recorded")
    report = diagnose(recorded([lacking, *steps(2)], exit_code=0))

    assert report.unseen == ("Python 3.19.0 lacks `warnings._show`: warnings are not recorded.",)


def test_a_feature_that_only_saves_time_is_not_worth_a_note(recorded):
    lacking = started_without(names=["torch._x"], lost="it takes longer", only_time=True)

    assert diagnose(recorded([lacking, *steps(2)], exit_code=0)).unseen == ()


@pytest.mark.parametrize(("left_out", "again"), [("microscope", None), ("loss probe", 4)])
def test_a_second_run_needs_the_microscope(recorded, left_out, again):
    lacking = started_without(names=["torch._x"], lost="something", left_out=[left_out])
    directory = recorded([lacking, *steps(5), alarm(4)], exit_code=1)

    assert needs_rerun(read_traces(directory)) == again


def test_a_process_in_which_we_could_not_start_is_noted(recorded):
    directory = recorded(steps(3), exit_code=0)
    (directory / "boot-failure.txt").write_text("process 7, python\nTraceback\nKeyError: 'x'\n\n")

    (note,) = diagnose(directory).unseen

    assert note.startswith("torchwhy could not start in one of the processes (KeyError: 'x')")


def test_a_run_without_trace_says_why_nothing_can_be_said(recorded):
    (note,) = diagnose(recorded(exit_code=0)).unseen

    assert note.startswith("nothing was watched")


@pytest.mark.parametrize(
    ("command", "flag"),
    [
        (["python", "-I", "train.py"], "-I"),
        (["/usr/bin/python3.12", "-u", "-sE", "train.py"], "-sE"),
        (["python3", "-S", "x.py"], "-S"),
        (["python3", "train.py", "-I"], None),
        (["python3", "-Xfrozen_modules", "train.py"], None),
        (["python3", "-m", "train", "-E"], None),
        (["train.py", "-I"], None),
        (["bash", "-E", "x"], None),
    ],
)
def test_flags_that_keep_us_out(command, flag):
    assert isolating_flag(command) == flag


def trace(*events, rank=0):
    return Trace(tuple(events), rank=rank)


def test_no_alarm_needs_no_second_run():
    assert needs_rerun([trace(*steps(3))]) is None
    assert needs_rerun([]) is None


@pytest.mark.parametrize(("reproduced", "expected"), [(True, None), (False, 2), (None, 2)])
def test_only_a_reproduced_failure_needs_no_second_run(reproduced, expected):
    seen = Replayed(step=2, how="in-place", reproduced=reproduced)

    assert needs_rerun([trace(*steps(3), alarm(2), seen)]) == expected


def test_a_replay_of_another_step_does_not_count():
    first = Replayed(step=0, how="first-step", reproduced=True)

    assert needs_rerun([trace(*steps(3), first, alarm(2))]) == 2


def test_the_first_step_is_seen_from_the_start():
    seen = Replayed(step=0, how="first-step", reproduced=None)

    assert needs_rerun([trace(alarm(0), birth(0), seen)]) is None
    assert needs_rerun([trace(alarm(0), seen)]) == 0


def test_the_earliest_alarm_of_all_ranks_decides():
    late = trace(alarm(9), rank=0)
    early = trace(alarm(4), birth(4), Replayed(step=4, how="in-place", reproduced=True), rank=1)

    assert needs_rerun([late, early]) is None


def test_the_time_to_the_failure_leaves_out_the_steps_after_it():
    traces = [trace(*steps(1000))]

    assert seconds_to_failure(traces, 499, run_seconds=5.0) == pytest.approx(5.0 - 500 * 0.002)


def test_a_rank_that_explains_silences_one_that_cannot() -> None:
    unexplained = Finding(LAST_RESORT, "error", said("something is NaN"), rank=0)
    explained = Finding("division-by-zero", "error", said("divided by 0"), rank=1)

    kept = _without_needless_last_resort([unexplained, explained])

    assert kept == [explained]
    assert _without_needless_last_resort([unexplained]) == [unexplained]
