"""Real ranks over gloo that stop moving: where each stands is told, and a fault only if their records prove it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from torchwhy.detect.hangs.hang_causes import finding_of
from torchwhy.follow.hangs.process_facts import lives
from torchwhy.follow.hangs.stack_asking import Known, _plain, _ranks_or_all
from torchwhy.pipeline import load
from torchwhy.record.standing.collective_log import Call, Calls, CollectiveLog, read_calls
from torchwhy.record.standing.stack_file import Asked, Frame, main_stack, parse_stacks
from torchwhy.record.standing.standstill import HANG_FILE, Standing, Standstill, Worker

RANKS = Path(__file__).parent / "hanging" / "ranks.py"


def run(folder: Path, *words: str) -> tuple[int, str, Path]:
    """Run ranks that hang; return the exit code, what was told, and the run directory."""
    (folder / "ranks.py").write_text(RANKS.read_text(encoding="utf8"), encoding="utf8")
    place = words.index("--")
    options, arguments = words[:place], words[place + 1 :]
    command = [sys.executable, "-m", "torchwhy", "run", *options, "ranks.py", *arguments]
    with (folder / "err").open("wb") as err:
        ended = subprocess.run(
            command,
            cwd=folder,
            stdout=err,
            stderr=err,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            timeout=170,
            check=False,
        )
    (recorded,) = (folder / ".torchwhy" / "runs").iterdir()
    assert not (recorded / "hang-watch-failure.txt").exists()
    return ended.returncode, (folder / "err").read_text(encoding="utf8"), recorded


@pytest.mark.skipif(sys.platform != "linux", reason="stacks are taken on Linux only")
class TestRealRanks:
    """Programs of two processes."""

    def test_ranks_with_different_collectives_are_stopped_and_none_is_left(self, tmp_path):
        # On a busy machine ranks may stand for some seconds before they train.
        code, told, recorded = run(tmp_path, "--hang", "8", "--on-hang", "stop", "--", "order")

        root = load(recorded).root_cause
        assert code == 1
        assert root is not None
        assert (root.detector, root.severity) == ("collective-mismatch", "error")
        assert "they part at `if rank == 0:`" in told
        pids = [int(path.stem.split("-")[1]) for path in recorded.glob("process-*.stacks")]
        assert len(pids) == 3
        assert not any(map(lives, pids))

    def test_rank_that_waits_for_a_long_evaluation_is_no_error(self, tmp_path):
        code, told, recorded = run(tmp_path, "--hang", "2", "--", "evaluates", "err")

        assert code == 0
        assert "error" not in told
        assert "moves again" in told
        assert load(recorded).outcome == "healthy"
        assert not (recorded / HANG_FILE).exists()


TEXT = """\
def main(rank):
    for batch in batches():
        loss(batch).backward()
    if rank == 0:
        dist.barrier()
    else:
        time.sleep(9)
    dist.all_reduce(x)
"""


def standing(rank: int, line: int, *calls: Call, is_open: bool = True, **facts: object) -> Standing:
    """Return a rank at a line of TEXT."""
    made = Calls(rank, 2, len(calls), len(calls) - is_open, calls)
    frames = (Frame("/home/train.py", line, "main"),)
    return Standing(rank + 1, rank, 2, **{"frames": frames, "calls": made, **facts})


def judged(*processes: Standing):
    return finding_of(
        Standstill(62.0, 7, processes, texts={"/home/train.py": TEXT}, directory="/home")
    )


BARRIER = Call(1, "barrier", "train.py", 5)


def test_rank_that_has_not_called_a_barrier_is_told_without_a_cause():
    finding = judged(standing(0, 5, BARRIER), standing(1, 7, is_open=False))

    assert (finding.detector, finding.severity) == ("hang", "note")
    assert [one.claim for one in finding.evidence] == [
        "rank 0 waits in `barrier` at train.py:5 in main, collective number 1, for about 62 s",
        "rank 1 stands still at train.py:7 in main: `time.sleep(9)`; has not called collective 1",
        "they part at `if rank == 0:`, train.py:4",
    ]


def test_different_sizes_are_a_mismatch():
    sizes = [Call(1, "all_reduce", "train.py", 8, count, "torch.float32") for count in (3, 4)]

    finding = judged(standing(0, 8, sizes[0]), standing(1, 8, sizes[1]))

    assert (finding.detector, finding.severity) == ("collective-mismatch", "error")
    assert "3 elements" in finding.message


def test_equal_collectives_at_different_lines_are_no_mismatch():
    there = [Call(1, "broadcast", "train.py", line, 3, "torch.float32") for line in (5, 7)]

    assert judged(standing(0, 5, there[0]), standing(1, 7, there[1])).severity == "note"


def test_rank_that_ended_before_a_collective_is_an_error():
    finding = judged(standing(0, 5, BARRIER), standing(1, 8, is_open=False, has_ended=True))

    assert finding.severity == "error"
    assert "rank 1, which has ended" in finding.message


def test_stacks_are_read_as_faulthandler_writes_them():
    text = 'Thread 0x2a (most recent call first):\n  File "/a/\\xe9.py", line 3 in f\n'

    stack = main_stack(parse_stacks(text + "\n" + text.replace("2a", "2b")), 0x2A)

    assert stack is not None
    assert stack.frames == (Frame("/a/é.py", 3, "f"),)


def test_newest_collectives_are_read_while_one_is_open(tmp_path):
    log = CollectiveLog(tmp_path / "calls", 1, 2)
    for _ in range(70):
        log.begin("all_reduce", ("train.py", 9), 3, "torch.float32")
        log.end()
    log.begin("barrier", ("train.py", 10), None, "")

    calls = read_calls(tmp_path / "calls")

    assert calls is not None
    assert (calls.rank, calls.made, calls.returned, len(calls.newest)) == (1, 71, 70, 64)
    assert calls.newest[-1] == Call(71, "barrier", "train.py", 10)


def test_ranks_at_one_place_are_told_together():
    finding = judged(*(standing(rank, 5, BARRIER) for rank in (0, 2, 3)), standing(1, 7))

    assert finding.evidence[0].claim.startswith("ranks 0, 2, 3 wait in `barrier`")


def alone(line: int, **facts: object) -> Standing:
    """Return a process without a rank at a line of TEXT."""
    frames = (Frame("/home/train.py", line, "main"),)
    return Standing(line, None, 1, **{"frames": frames, **facts})


def test_one_process_is_the_program_and_two_are_told_by_their_numbers():
    (one,) = judged(alone(7)).evidence
    two = judged(alone(7), alone(5)).evidence

    assert one.claim == "the program stands still at train.py:7 in main: `time.sleep(9)`"
    assert sorted(line.claim.split(" stands")[0] for line in two) == ["process 5", "process 7"]


def test_launcher_without_ranks_says_so():
    frames = (
        Frame("/x/torch/distributed/run.py", 900, "run"),
        Frame("/home/.venv/bin/torchrun", 8, "<module>"),
    )

    (line,) = judged(alone(1, frames=frames)).evidence

    assert line.claim == "no process that the launcher started has imported torch yet"


@pytest.mark.parametrize("works", [True, False])
def test_worker_is_told_if_it_works(*, works: bool):
    own = (Frame("/home/train.py", 7, "__getitem__"),) if works else ()
    loop = Frame("/x/torch/utils/data/_utils/worker.py", 350, "_worker_loop")
    worker = Worker(44, (*own, loop, Frame("/home/train.py", 2, "main")))

    claims = [one.claim for one in judged(alone(2, workers=(worker,))).evidence]

    told = "process 44, started by the program, is at train.py:7 in __getitem__: `time.sleep(9)`"
    assert (told in claims) == works
    assert len(claims) == 1 + works


def test_child_without_a_rank_stands_beside_its_parent(tmp_path):
    asked = [Asked(pid=pid, signal=57, descriptor=3, main_thread=1) for pid in (1, 2)]
    known = Known(rank=0, world_size=1, last_step=5)

    found = [_plain(one, tmp_path, known if one.pid == 1 else None) for one in asked]

    assert [one.pid for one in _ranks_or_all(found)] == [1, 2]
