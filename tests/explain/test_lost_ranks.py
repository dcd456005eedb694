"""Ranks that failed because another one was gone: what that one left behind leads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from torchwhy.finding import SourceSpan
from torchwhy.pipeline import diagnose
from torchwhy.record.events import Event, ExceptionSeen, RunEnded, RunStarted, Step
from torchwhy.record.run_file import Run, write_run
from torchwhy.record.standing.collective_log import CollectiveLog, calls_file_of

LOST = "[pair.cc:553] Connection closed by peer [127.0.0.1]:4711"


def job(folder: Path, *ranks: Sequence[Event]) -> Path:
    """Write a run whose ranks made four steps before these events."""
    folder.mkdir()
    write_run(folder, Run(("torchrun", "train.py"), "/train", exit_code=1, seconds=1.0))
    for rank, last in enumerate(ranks):
        started = RunStarted(
            schema=1,
            pid=rank,
            rank=rank,
            world_size=len(ranks),
            argv=["train.py"],
            directory="/train",
            python="3.11",
            torch="2.6",
            started_unix_seconds=1e9,
        )
        steps = [Step(step=n, optimizer=0, losses=[1.0], milliseconds=2.0) for n in range(4)]
        lines = [msgspec.json.encode(event) + b"\n" for event in (started, *steps, *last)]
        (folder / f"rank{rank}.jsonl").write_bytes(b"".join(lines))
    return folder


def raised(kind: str, message: str) -> ExceptionSeen:
    """Return an exception of which nothing else was written, because the launcher ended the rank."""
    place = SourceSpan("/train/train.py", 20, expression="loss.backward()")
    return ExceptionSeen(step=4, type=kind, message=message, caught=False, location=place)


def test_exception_that_was_only_noted_leads_the_lost_peer(tmp_path: Path) -> None:
    lost, key = raised("RuntimeError", LOST), raised("KeyError", "'width'")

    report = diagnose(job(tmp_path / "run", [lost], [key]))

    root = report.root_cause
    assert root is not None
    assert (root.rank, [one.rank for one in root.explains]) == (1, [0])
    assert "KeyError" in root.message


def test_plain_exception_leads_ranks_that_were_ended_without_a_word(tmp_path: Path) -> None:
    report = diagnose(job(tmp_path / "run", [], [raised("KeyError", "'width'")], []))

    assert report.root_cause is not None
    assert report.root_cause.rank == 1
    assert report.failed_ranks is not None
    assert report.failed_ranks.followed == 2


@pytest.mark.parametrize(
    ("last", "words"),
    [([], "rank 1 was ended without an exception"), ([RunEnded(steps=4)], "ended by itself")],
    ids=["killed", "exit"],
)
def test_one_rank_without_an_exception_is_named(
    tmp_path: Path, last: list[Event], words: str
) -> None:
    report = diagnose(job(tmp_path / "run", [raised("RuntimeError", LOST)], last))

    root = report.root_cause
    assert root is not None
    assert root.rank == 1
    assert words in root.message
    assert "rank 0 waited for it in `loss.backward()`" in root.message


def test_several_ranks_without_an_exception_are_evidence(tmp_path: Path) -> None:
    report = diagnose(job(tmp_path / "run", [raised("RuntimeError", LOST)], [], []))

    root = report.root_cause
    assert root is not None
    assert root.rank == 0
    assert any("ranks 1–2 left no exception" in one.claim for one in root.evidence)


@pytest.mark.parametrize(("elements", "is_mismatch"), [((3, 4), True), ((3, 3), False)])
def test_last_collectives_of_ended_ranks_show_a_mismatch(
    tmp_path: Path, elements: tuple[int, int], *, is_mismatch: bool
) -> None:
    folder = job(tmp_path / "run", [raised("RuntimeError", LOST)], [])
    for rank, count in enumerate(elements):
        log = CollectiveLog(calls_file_of(folder, rank + 100), rank, 2)
        log.begin("all_reduce", ("train.py", 20 + rank), count, "torch.float32")

    root = diagnose(folder).root_cause

    assert root is not None
    assert (root.detector == "collective-mismatch") == is_mismatch
    if is_mismatch:
        assert "3 elements" in root.message
        assert [one.detector for one in root.explains] == ["unexplained-error"]
