"""What torchwhy says and costs where tensors are not on the CPU."""

from __future__ import annotations

import pytest

from tests.devices.device_runs import PROGRAMS, DeviceRuns
from torchwhy.record.events import ProbeFailed, Replayed

IDENTICAL = ("healthy", "two_places", "scaled")
OBSERVED = 24  # the first steps, in some of which torchwhy compares more than the check needs
COMPARED = 3  # steps of a run whose updates are compared, each by one more wait
BROKEN = {
    "bad_sample": "log-of-nonpositive",
    "bad_gradient": "root-gradient-at-zero",
    "graph_kept": "retained-graph",
    "mixed_devices": "device-mismatch",
}


def extra_waits(runs: DeviceRuns, name: str) -> list[int]:
    """Return by how many waits each step of a watched run exceeds the bare one."""
    bare, watched = runs.of(name, watched=False), runs.of(name)
    return [own - its for own, its in zip(watched.waits, bare.waits, strict=True)]


@pytest.mark.parametrize("name", IDENTICAL)
def test_watched_training_is_bit_identical(runs, name):
    bare, watched = runs.of(name, watched=False), runs.of(name)

    assert bare.ended.exit_code == watched.ended.exit_code == 0
    assert watched.state == bare.state


@pytest.mark.parametrize("name", IDENTICAL)
def test_healthy_training_has_no_finding_and_no_failed_probe(runs, name):
    watched = runs.of(name)

    assert watched.report.findings == ()
    assert list(watched.trace.of(ProbeFailed)) == []


@pytest.mark.parametrize("name", ["healthy", "two_places"])
def test_each_step_waits_once_for_the_device(runs, name):
    first, *others = extra_waits(runs, name)

    assert max(others) <= 2
    assert sum(count > 1 for count in others) <= COMPARED
    assert first < 150  # the microscope looks at every operation of the first step


def test_a_cruising_step_under_a_scaler_waits_once(runs):
    extra = extra_waits(runs, "scaled")
    skipped = next(place for place, count in enumerate(extra) if count < 10)

    assert max(extra[skipped:]) <= 4
    assert sum(count > 1 for count in extra[skipped + OBSERVED :]) <= COMPARED


@pytest.mark.parametrize(("name", "cause"), BROKEN.items())
def test_the_cause_is_named_at_its_line(runs, name, cause):
    lines = (PROGRAMS / f"{name}.py").read_text().splitlines()

    root = runs.of(name).root

    assert root.detector == cause
    assert lines[root.location.line - 1].endswith(f"# <- {cause}")


def test_the_sample_is_named(runs):
    assert runs.of("bad_sample").root.sample.dataset_index == 17


def test_a_step_is_repeated_with_the_random_numbers_of_the_device(runs):
    (replayed,) = runs.of("bad_sample").trace.of(Replayed)

    assert replayed.how == "in-place"
    assert replayed.reproduced


def test_a_device_without_float64_is_watched_as_well(runs):
    watched = runs.of("healthy", variant="TOY_WITHOUT_FLOAT64")

    assert watched.ended.exit_code == 0
    assert list(watched.trace.of(ProbeFailed)) == []
    assert watched.state == runs.of("healthy", watched=False).state


def test_a_late_error_is_bracketed_by_the_last_answer_of_the_device(runs):
    root = runs.of("late_assert").root

    assert root.diagnosis.switch == "TOY_LAUNCH_BLOCKING=1"
    assert root.diagnosis.answered_at_step == 29
    assert "optimizer.step()" in root.diagnosis.silent_at.expression
    assert not any("switched off" in note for note in runs.of("late_assert").report.all_notes)


def test_a_late_error_is_told_at_its_launch_if_every_launch_waits(runs):
    root = runs.of("late_assert", variant="TOY_LAUNCH_BLOCKING").root

    assert "model(features)" in root.location.expression
    assert root.step == 30


def test_out_of_memory_says_what_held_the_memory(runs):
    diagnosis = runs.of("memory_full").root.diagnosis

    assert (diagnosis.variable, diagnosis.tensors) == ("history", 74)
    assert diagnosis.in_variable > 0.9 * diagnosis.allocated
    assert diagnosis.weights == 256 * 257 * 4
    assert "`history`" in diagnosis.remedies[0]


def test_the_collection_that_grew_until_then_is_found(runs):
    found = {finding.detector for finding in runs.of("memory_full").report.findings}

    assert "growing-collection" in found
