"""Jobs of many ranks on several machines: one report, which names the rank that failed first."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import msgspec
import pytest

from tests.support.many_ranks import write_job
from torchwhy.commands import main
from torchwhy.errors import TraceError
from torchwhy.finding import SourceSpan
from torchwhy.observe.run_directories import begin_recording
from torchwhy.observe.settings import host_name, rank_of_environment
from torchwhy.pipeline import diagnose, diagnose_nodes
from torchwhy.record.crashes import Crash
from torchwhy.record.events import Event, RunEnded, RunStarted, Step
from torchwhy.record.ranks.nodes import named
from torchwhy.record.ranks.outline import read_outline
from torchwhy.record.run_file import Run, write_run
from torchwhy.record.trace import read_rank
from torchwhy.report.model import from_json

LOST = "[enforce fail] Connection closed by peer [10.0.0.{}]:4711"


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a job of 64 ranks on 8 machines, in which rank 37 divided by zero in step 2500."""
    folder = tmp_path_factory.mktemp("job") / "nodes"
    write_job(folder, ranks=64, steps=2500, culprit=37)
    return folder


def crashed_job(folder: Path, *, ranks: int, culprit: int, silent: bool = False) -> Path:
    """Write a run in one folder whose rank `culprit` raised at step 4, or was killed; the others lost their peer."""
    folder.mkdir()
    write_run(folder, Run(("torchrun", "train.py"), "/train", exit_code=1, seconds=1.0))
    for rank in range(ranks):
        events: list[Event] = [
            RunStarted(
                schema=1,
                pid=rank,
                rank=rank,
                world_size=ranks,
                argv=["train.py"],
                directory="/train",
                python="3.11",
                torch="2.6",
                started_unix_seconds=1e9 - rank,
                host=f"host-{rank // 8}",
            ),
            *(Step(step=n, optimizer=0, losses=[1.0], milliseconds=2.0) for n in range(4)),
        ]
        if rank != culprit:
            events.append(crash("RuntimeError", LOST.format(rank), line=20, raised_by="torch"))
            events.append(RunEnded(steps=4))
        elif not silent:
            events.append(crash("KeyError", "'width'", line=11, raised_by="python"))
            events.append(RunEnded(steps=4))
        lines = [msgspec.json.encode(event) + b"\n" for event in events]
        (folder / f"rank{rank}.jsonl").write_bytes(b"".join(lines))
    return folder


def crash(kind: str, message: str, *, line: int, raised_by: str) -> Crash:
    place = SourceSpan("/train/train.py", line, expression="step()")
    return Crash(step=4, type=kind, message=message, location=place, raised_by=raised_by)  # type: ignore[arg-type]


def test_the_rank_at_fault_is_named_with_its_machine(job: Path) -> None:
    report = diagnose_nodes(sorted(job.iterdir()))

    assert report.root_cause is not None
    assert (report.root_cause.detector, report.root_cause.rank) == ("division-by-zero", 37)
    assert report.failed_ranks is not None
    assert report.failed_ranks.words == "rank 37 on host-4 first; 63 followed"
    assert from_json(report.to_json()).failed_ranks == report.failed_ranks
    (note,) = report.unseen
    assert note.startswith("5 of 64 ranks were judged in full")


def test_one_folder_that_holds_all_gives_the_same(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(job)]) == 0

    assert "training broke, rank 37 on host-4 first; 63 followed" in capsys.readouterr().out


def test_a_missing_and_a_damaged_folder_cost_one_sentence_each(job: Path, tmp_path: Path) -> None:
    nodes = tmp_path / "nodes"
    shutil.copytree(job, nodes)
    shutil.rmtree(nodes / "host-1")
    (nodes / "host-2" / "run.json").write_text("{")

    report = diagnose_nodes([nodes / f"host-{number}" for number in range(8)])

    assert report.root_cause is not None
    assert report.root_cause.rank == 37
    told = "\n".join(report.unseen)
    assert "host-1 is left out" in told
    assert "host-2 is left out" in told
    assert "ranks 8–23 of 64 have no trace in these folders." in told


def test_a_rank_whose_trace_is_damaged_is_left_out(job: Path, tmp_path: Path) -> None:
    nodes = tmp_path / "nodes"
    shutil.copytree(job, nodes)
    (nodes / "host-0" / "rank3.jsonl").write_bytes(b'{"event":"run"}\n{"event":"end"}\n{}\n')

    report = diagnose_nodes(sorted(nodes.iterdir()))

    assert report.root_cause is not None
    assert report.root_cause.rank == 37
    assert sum("a rank is left out" in one for one in report.unseen) == 1


def test_folders_of_two_jobs_are_not_mixed(job: Path, tmp_path: Path) -> None:
    other = tmp_path / "again"
    shutil.copytree(job / "host-0", other)

    report = diagnose_nodes([*sorted(job.iterdir()), other])

    (told,) = [one for one in report.unseen if "Are both of one job?" in one]
    assert told.startswith("ranks 0–7 are in ")


def test_no_readable_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="left out"):
        diagnose_nodes([tmp_path / "nowhere"])


@pytest.mark.parametrize("ranks", [8, 40])
def test_the_one_plain_exception_leads_the_lost_peers(tmp_path: Path, ranks: int) -> None:
    report = diagnose(crashed_job(tmp_path / "run", ranks=ranks, culprit=5))

    assert report.root_cause is not None
    assert report.root_cause.rank == 5
    assert "KeyError" in report.root_cause.message
    assert report.failed_ranks is not None
    assert report.failed_ranks.followed == ranks - 1


def test_the_rank_that_was_killed_is_named_among_many(tmp_path: Path) -> None:
    report = diagnose(crashed_job(tmp_path / "run", ranks=40, culprit=33, silent=True))

    assert report.root_cause is not None
    claims = [one.claim for one in report.root_cause.evidence]
    assert "rank 33 left no exception; its recording ends after step 3" in claims


def test_an_outline_has_the_failure_and_the_newest_step(job: Path) -> None:
    path = job / "host-4" / "rank37.jsonl"
    whole, outline = read_rank(path), read_outline(path)

    assert outline.trace.alarms == whole.alarms
    assert outline.trace.steps == [max(whole.steps, key=lambda step: step.step)]
    assert (outline.trace.rank, outline.trace.host) == (37, "host-4")
    assert outline.course != read_outline(job / "host-4" / "rank36.jsonl").course


def test_a_torn_outline_is_read(job: Path, tmp_path: Path) -> None:
    torn = tmp_path / "rank0.jsonl"
    content = (job / "host-0" / "rank0.jsonl").read_bytes()
    torn.write_bytes(content[: content.index(b'"step":700,') + 8])

    assert read_outline(torn).trace.steps[-1].step == 699


def test_srun_gives_rank_and_host(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SLURM_PROCID", "12")
    monkeypatch.setenv("SLURMD_NODENAME", "gpu-07")

    assert (rank_of_environment(), host_name()) == (12, "gpu-07")
    monkeypatch.setenv("RANK", "3")
    assert rank_of_environment() == 3
    monkeypatch.setenv("RANK", "none")
    assert rank_of_environment() == 12


def test_a_given_folder_keeps_its_rights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURMD_NODENAME", "gpu-07")
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o755)

    made = begin_recording(Run(("train.py",), "/train"), shared, is_given=True)

    assert made.parent == shared
    assert made.name.startswith("gpu-07-")
    assert stat.S_IMODE(shared.stat().st_mode) == 0o755
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert list(shared.iterdir()) == [made]


def test_ranks_are_told_in_spans() -> None:
    assert named([3]) == "rank 3"
    assert named([0, 1, 2, 5]) == "ranks 0–2, 5"
