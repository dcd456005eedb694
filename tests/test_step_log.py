"""Steps in the trace: a line each at first, thinned later, and the newest ones in the ring whatever happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchwhy.record.events import RunStarted, Step, Thinned
from torchwhy.record.step_log import ALL_BEFORE, SLOTS, StepLog, recent_steps, ring_of
from torchwhy.record.trace import read_rank
from torchwhy.record.writer import TraceWriter


def started() -> RunStarted:
    return RunStarted(
        schema=1, pid=1, rank=0, world_size=1, argv=[], directory="", python="", torch="",
        started_unix_seconds=0.0, rerun_of_step=None,
    )  # fmt: skip


@pytest.fixture
def writer(tmp_path: Path) -> TraceWriter:
    writer = TraceWriter(tmp_path, rank=0, header=started)
    writer.write(Thinned(step=0, what="nothing", reason="the first event opens the file"))
    return writer


def fail(problem: OSError) -> None:
    raise problem


def logged(log: StepLog, losses: list[float], first: int = 0) -> None:
    for step, loss in enumerate(losses, start=first):
        log.add(step, 0, loss, 1.5)


def test_every_early_step_has_a_line(writer, tmp_path):
    log = StepLog(writer, fail)
    logged(log, [1.0 / (n + 1) for n in range(300)])
    log.close()

    steps = read_rank(tmp_path / "rank0.jsonl").steps
    assert [step.step for step in steps] == list(range(300))
    assert steps[6] == Step(step=6, optimizer=0, losses=[0.142857143], milliseconds=1.5)
    assert not ring_of(tmp_path / "rank0.jsonl").exists()


def test_after_sigkill_the_ring_has_what_the_lines_lack(writer, tmp_path):
    log = StepLog(writer, fail)
    logged(log, [float(n) for n in range(1, 100)])  # never flushed to its end, never closed

    steps = read_rank(tmp_path / "rank0.jsonl").steps
    assert [step.losses[-1] for step in steps] == [float(n) for n in range(1, 100)]


def test_other_events_come_after_the_steps_before_them(writer, tmp_path):
    log = StepLog(writer, fail)
    logged(log, [1.0, 2.0])
    writer.write(Thinned(step=2, what="x", reason="y"))

    kinds = [type(event).__name__ for event in read_rank(tmp_path / "rank0.jsonl").events]
    assert kinds == ["RunStarted", "Thinned", "Step", "Step", "Thinned"]


def test_a_long_run_is_thinned_and_keeps_its_end_whole(writer, tmp_path):
    log = StepLog(writer, fail)
    many = 50 * ALL_BEFORE
    logged(log, [1.0] * many)
    log.close()

    numbers = [step.step for step in read_rank(tmp_path / "rank0.jsonl").steps]
    assert numbers == sorted(set(numbers))
    assert numbers[:ALL_BEFORE] == list(range(ALL_BEFORE))
    assert numbers[-SLOTS:] == list(range(many - SLOTS, many))
    assert len(numbers) < 6 * ALL_BEFORE + SLOTS
    assert (tmp_path / "rank0.jsonl").stat().st_size < 1_200_000


def test_a_spike_is_not_thinned_away(writer, tmp_path):
    log = StepLog(writer, fail)
    losses = [1.0] * (10 * ALL_BEFORE)
    losses[5 * ALL_BEFORE + 3] = 70.0
    logged(log, losses)
    log.close()

    assert 70.0 in [step.losses[-1] for step in read_rank(tmp_path / "rank0.jsonl").steps]


def test_a_ring_that_cannot_be_made_is_done_without(writer, tmp_path):
    ring_of(tmp_path / "rank0.jsonl").mkdir()
    log = StepLog(writer, fail)
    logged(log, [1.0] * 100)
    log.flush()

    assert len(read_rank(tmp_path / "rank0.jsonl").steps) == 100


def test_half_a_ring_is_read_as_far_as_it_goes(writer, tmp_path):
    log = StepLog(writer, fail)
    logged(log, [1.0] * 10)
    ring = ring_of(tmp_path / "rank0.jsonl")
    ring.write_bytes(ring.read_bytes()[: 5 * 32 + 7])

    recent, damage = recent_steps(tmp_path / "rank0.jsonl", last=-1)
    assert [step.step for step in recent] == [0, 1, 2, 3, 4]
    assert damage == ()
