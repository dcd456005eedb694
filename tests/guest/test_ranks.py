"""Two real ranks over gloo: watched like any program, without one more collective, and the guilty rank leads."""

from __future__ import annotations

import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from tests.guest.pairs import Left, Pairs
from torchwhy.pipeline import diagnose
from torchwhy.record.events import ProbeFailed, Replayed
from torchwhy.record.run_file import read_traces
from torchwhy.replay.step import rank_agreement
from torchwhy.report.model import Report


def _free_port() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return str(taken.getsockname()[1])


def _run(pairs: Pairs, name: str, *arguments: str, watched: bool = True) -> list[Left]:
    places = [
        {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": "2",
            "MASTER_ADDR": "127.0.0.1",
            "TORCHELASTIC_ERROR_FILE": str(pairs.folder / f"{'-'.join(arguments)}-{rank}.json"),
        }
        for rank in range(2)
    ]
    port = _free_port()
    with ThreadPoolExecutor(2) as pool:
        ranks = [
            pool.submit(
                pairs.run_rank,
                name,
                arguments,
                {**place, "MASTER_PORT": port},
                None,
                watched=watched,
            )
            for place in places
        ]
    return [rank.result() for rank in ranks]


def _report(left: list[Left]) -> tuple[Path, Report]:
    folder = (left[0].folder / "run").resolve()
    return folder, diagnose(folder)


@pytest.mark.parametrize("way", ["fsdp2", "fsdp1", "tensor"])
def test_shared_model_gives_the_same_bits_with_as_many_collectives(way: str, pairs: Pairs) -> None:
    bare = _run(pairs, "sharded_ranks", way, watched=False)
    watched = _run(pairs, "sharded_ranks", way)

    assert [left.ended.exit_code for left in bare + watched] == [0] * 4, watched[0].stderr
    assert [left.stdout for left in watched] == [left.stdout for left in bare]
    folder, report = _report(watched)
    assert [len(trace.steps) for trace in read_traces(folder)] == [4, 4]
    assert report.findings == ()
    assert [event for left in watched for event in left.events if type(event) is ProbeFailed] == []


def test_step_that_is_bad_on_all_ranks_is_repeated_by_all(pairs: Pairs) -> None:
    left = _run(pairs, "sharded_ranks", "fsdp2", "zeros")

    folder, report = _report(left)
    assert [one.ended.exit_code for one in left] == [1, 1]
    repeated = [event for trace in read_traces(folder) for event in trace.of(Replayed)]
    assert [(one.step, one.how, one.reproduced) for one in repeated] == [(2, "in-place", True)] * 2
    cause = report.root_cause
    assert cause is not None
    assert (cause.detector, cause.rank) == ("division-by-zero", 1)
    assert cause.sample is not None
    assert len(report.findings) == 1


def test_rank_that_alone_is_bad_leads_the_rank_that_lost_it(pairs: Pairs) -> None:
    left = _run(pairs, "sharded_ranks", "fsdp2", "root")

    _, report = _report(left)
    assert [one.ended.exit_code for one in left] == [1, 1]
    cause = report.root_cause
    assert cause is not None
    assert (cause.detector, cause.rank) == ("unexplained-nonfinite", 1)
    assert [(one.detector, one.rank) for one in cause.explains] == [("unexplained-error", 0)]
    times = [_noted_time(pairs.folder / f"fsdp2-root-{rank}.json") for rank in range(2)]
    assert times[1] < times[0]


def _noted_time(path: Path) -> int:
    return int(json.loads(path.read_text())["message"]["extraInfo"]["timestamp"])


@pytest.mark.parametrize("misfit", [False, True])
def test_forked_processes_are_watched(misfit: bool, pairs: Pairs) -> None:  # noqa: FBT001
    arguments = ("misfit",) if misfit else ()
    place = {"MASTER_PORT": _free_port(), "RANK": "0"}

    left = pairs.run_rank("forked_ranks", arguments, place, None)

    folder, report = _report([left])
    assert left.ended.exit_code == int(misfit), left.stderr
    assert "torchwhy" not in left.stderr.replace(str(Path(__file__).parents[2]), "")
    traces = read_traces(folder)
    assert [(trace.rank, len(trace.steps)) for trace in traces] == [
        (0, 4 - 2 * misfit),
        (1, 4 - 2 * misfit),
    ]
    cause = report.root_cause
    if misfit:
        assert cause is not None
        assert (cause.detector, cause.rank) == ("linear-size-mismatch", 1)
        assert [one.rank for one in cause.explains] == [0]
    else:
        assert cause is None


@pytest.mark.parametrize(
    ("wrapper", "rows", "found"),
    [
        ("ddp", "same-stream", ["same-rows-on-every-rank"]),
        ("fsdp2", "same-table", ["same-rows-on-every-rank"]),
        ("tensor", "same-table", []),
        ("ddp", "own-tables", []),
        ("ddp", "parts-of-stream", []),
    ],
)
def test_ranks_that_average_gradients_draw_rows_of_their_own(
    wrapper: str, rows: str, found: list[str], pairs: Pairs
) -> None:
    left = _run(pairs, "drawn_by_ranks", wrapper, rows)

    _, report = _report(left)
    assert [one.ended.exit_code for one in left] == [0, 0], left[0].stderr
    assert [event for one in left for event in one.events if type(event) is ProbeFailed] == []
    assert [one.detector for one in report.findings] == found


class TestAgreement:
    """Ranks vote over a store; here they are threads of one process."""

    def votes(self, monkeypatch: pytest.MonkeyPatch, given: list[str], ranks: int) -> list[bool]:
        store = torch.distributed.HashStore()
        monkeypatch.setattr(rank_agreement, "default_store", lambda: store)
        monkeypatch.setattr(rank_agreement, "world_size", lambda: ranks)
        monkeypatch.setattr(rank_agreement, "POLLS", 5)
        answers: list[bool] = []
        voters = [
            threading.Thread(
                target=lambda vote=vote: answers.append(
                    rank_agreement.RankAgreement().agree("step 3", vote)
                )
            )
            for vote in given
        ]
        for voter in voters:
            voter.start()
        for voter in voters:
            voter.join()
        return answers

    def test_all_ranks_with_one_vote_agree(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.votes(monkeypatch, ["body", "body"], ranks=2) == [True, True]

    def test_different_votes_do_not_agree(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.votes(monkeypatch, ["body", "batches"], ranks=2) == [False, False]

    def test_a_rank_without_a_reason_is_not_waited_for(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert self.votes(monkeypatch, ["body"], ranks=2) == [False]
