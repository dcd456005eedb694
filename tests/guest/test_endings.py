"""However a program ends, the trace can be read and there is a report."""

from __future__ import annotations

import os
import random
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.guest.pairs import Pairs
from torchwhy.pipeline import diagnose
from torchwhy.record.events import Step
from torchwhy.record.run_file import read_run, read_traces, write_run

SIGNALS = {
    "terminated": signal.SIGTERM,
    "segfault": signal.SIGSEGV,
    "out_of_memory": signal.SIGKILL,
}


@pytest.mark.parametrize("name", SIGNALS)
def test_program_ended_by_a_signal_leaves_a_readable_trace(name: str, pairs: Pairs) -> None:
    left = pairs.run(f"dying/{name}", watched=True)

    assert left.ended.exit_code == -SIGNALS[name]
    assert [event.step for event in left.events if isinstance(event, Step)] == [0, 1, 2]


@pytest.mark.parametrize("seed", range(6))
def test_kill_at_any_moment_leaves_a_readable_trace_and_a_report(seed: int, pairs: Pairs) -> None:
    milliseconds = random.Random(seed).randrange(5, 600)

    left = pairs.run("killed_any_time", watched=True, arguments=(str(milliseconds),))

    assert left.ended.exit_code == -signal.SIGKILL
    folder = left.folder / "run"
    write_run(
        folder, replace(read_run(folder), exit_code=137, signal=9, seconds=left.ended.seconds)
    )
    report = diagnose(folder)
    steps = [event.step for trace in read_traces(folder) for event in trace.steps]
    assert steps == list(range(len(steps)))
    # How far it came is chance: a longer run may be told that its loss, small from the start, does not fall.
    assert report.outcome == "healthy"
    assert any("SIGKILL" in note for note in report.notes)


class TestTwoRanks:
    """Distributed training with gloo: a trace per rank, a right report, no hang."""

    def run(self, pairs: Pairs, *arguments: str, rerun_step: int | None = None) -> Path:
        port = str(20_000 + os.getpid() % 20_000 + len(arguments) + (rerun_step or 0))
        places = [
            {
                "RANK": str(r),
                "LOCAL_RANK": str(r),
                "WORLD_SIZE": "2",
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": port,
            }
            for r in range(2)
        ]
        with ThreadPoolExecutor(2) as pool:
            ranks = [
                pool.submit(pairs.run_rank, "two_ranks", arguments, place, rerun_step)
                for place in places
            ]
        self.left = [rank.result() for rank in ranks]
        return self.left[0].folder / "run"

    def test_healthy_ranks_train_to_the_end(self, pairs: Pairs) -> None:
        folder = self.run(pairs)

        assert [left.ended.exit_code for left in self.left] == [0, 0], self.left[0].stderr
        assert [len(trace.steps) for trace in read_traces(folder)] == [6, 6]
        assert diagnose(folder).findings == ()

    def test_nan_of_one_rank_is_found_on_that_rank(self, pairs: Pairs) -> None:
        folder = self.run(pairs, "zeros")
        assert [left.ended.exit_code for left in self.left] == [1, 1], self.left[0].stderr
        self.run(pairs, "zeros", rerun_step=3)

        report = diagnose(folder)

        assert report.root_cause is not None
        assert (report.root_cause.detector, report.root_cause.rank) == ("division-by-zero", 1)
        assert report.root_cause.location is not None
        assert report.root_cause.location.line == 20
