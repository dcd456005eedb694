"""Hand-made traces of ranks: what they hold, save, draw and reduce, compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.detect.helpers import trace_with
from torchwhy.detect.base import Detector
from torchwhy.detect.causes.ranks.missing_no_sync import MissingNoSync
from torchwhy.detect.causes.ranks.padded_evaluation import PaddedEvaluation
from torchwhy.detect.causes.ranks.rank_divergence import OwnGradients, RankDivergence
from torchwhy.detect.causes.ranks.rows_on_no_rank import PartsLeftOut, RowsOnNoRank
from torchwhy.detect.causes.ranks.saved_by_every_rank import SameFile, SavedByEveryRank
from torchwhy.finding import Finding
from torchwhy.record.events import Event, RunStarted
from torchwhy.record.inputs.data_events import LoaderSeen, SamplerSeen
from torchwhy.record.ranks.rank_events import GradientsReduced, HeldOnRank, TensorHeld
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import FileSaved


def rank(number: int, *events: Event, ranks: int = 2, host: str = "node") -> Trace:
    started = RunStarted(
        schema=1,
        pid=number,
        rank=number,
        world_size=ranks,
        argv=["train.py"],
        directory="/",
        python="3",
        torch="2",
        started_unix_seconds=0.0,
        host=host,
    )
    return replace(trace_with(started, *events, losses=[2.0, 1.0]), rank=number)


def compared(detector: type[Detector], traces: Sequence[Trace]) -> list[Finding]:
    return list(detector().compare(traces))


def tensor(
    name: str, weight: float, gradient: str, steps: int, *, wrapped: bool = False
) -> TensorHeld:
    """Return a tensor whose gradient changes from step to step, as gradients do."""
    slope = f"{gradient}{steps}" if gradient else ""
    return TensorHeld(
        name=name, weight=str(weight), gradient=slope, weights=[weight], wrapped=wrapped
    )


def held(*, start: float, later: float, gradient: str, wrapped: bool = False) -> list[HeldOnRank]:
    """Return two looks of a rank at one parameter."""
    return [
        HeldOnRank(
            step=steps,
            optimizer=0,
            steps=steps,
            reduced=True,
            tensors=[tensor("net.weight", weight, gradient, steps, wrapped=wrapped)],
        )
        for steps, weight in ((0, start), (3, later))
    ]


def pair(one: dict[str, object], other: dict[str, object]) -> list[Finding]:
    """Compare two ranks that hold one parameter each."""
    return compared(
        RankDivergence,
        [rank(n, *held(**facts)) for n, facts in enumerate((one, other))],  # type: ignore[arg-type]
    )


def test_same_gradients_on_different_weights_are_an_error() -> None:
    (finding,) = pair(
        {"start": 1.0, "later": 0.9, "gradient": "g"},
        {"start": 2.0, "later": 1.9, "gradient": "g"},
    )

    assert finding.severity == "error"
    assert "ranks 0–1 apply the same gradients to different weights" in finding.message


def test_different_updates_from_the_same_gradients_are_an_error() -> None:
    (finding,) = pair(
        {"start": 1.0, "later": 0.9, "gradient": "g"},
        {"start": 1.0, "later": 0.8, "gradient": "g"},
    )

    assert "different updates" in finding.message


def test_wrapped_parameters_with_gradients_of_their_own_are_a_warning() -> None:
    (finding,) = pair(
        {"start": 1.0, "later": 0.9, "gradient": "g", "wrapped": True},
        {"start": 1.0, "later": 0.8, "gradient": "h", "wrapped": True},
    )

    assert finding.severity == "warning"
    assert isinstance(finding.diagnosis, OwnGradients)
    assert finding.diagnosis.wrapped


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            {"start": 1.0, "later": 0.9, "gradient": "g"},
            {"start": 1.0, "later": 0.9, "gradient": "g"},
        ),
        (
            {"start": 1.0, "later": 0.9, "gradient": "g"},
            {"start": 2.0, "later": 1.8, "gradient": "h"},
        ),
        (
            {"start": 1.0, "later": 0.9, "gradient": "g"},
            {"start": 1.0, "later": 0.8, "gradient": "h"},
        ),
        (
            {"start": 1.0, "later": 0.9, "gradient": ""},
            {"start": 2.0, "later": 1.9, "gradient": ""},
        ),
        (
            {"start": 1.0, "later": 0.9, "gradient": "g"},
            {"start": 1.00001, "later": 0.90001, "gradient": "g"},
        ),
    ],
    ids=["alike", "own models", "parts of a model", "no gradient", "rounding"],
)
def test_ranks_without_a_common_model_or_in_step_are_not_reported(
    one: dict[str, object], other: dict[str, object]
) -> None:
    assert pair(one, other) == []


def test_gradient_that_never_changes_does_not_count_as_averaged() -> None:
    # The derivative of a plain mean of outputs is the same whatever the weights are.
    looks = [
        [
            HeldOnRank(
                step=steps,
                optimizer=0,
                steps=steps,
                tensors=[TensorHeld(name="w", weight=str(w), gradient="g", weights=[w])],
            )
            for steps in (0, 3)
        ]
        for w in (1.0, 2.0)
    ]

    assert compared(RankDivergence, [rank(n, *one) for n, one in enumerate(looks)]) == []


def test_wrapped_parameters_under_no_sync_are_local_training() -> None:
    facts = [
        {"start": 1.0, "later": 0.9, "gradient": "g", "wrapped": True},
        {"start": 1.0, "later": 0.8, "gradient": "h", "wrapped": True},
    ]
    traces = []
    for number, one in enumerate(facts):
        looks = held(**one)  # type: ignore[arg-type]
        silent = [
            HeldOnRank(step=x.step, optimizer=0, steps=x.steps, tensors=x.tensors) for x in looks
        ]
        traces.append(rank(number, *silent))

    assert compared(RankDivergence, traces) == []


def saved(path: str, step: int = 7) -> FileSaved:
    return FileSaved(step=step, path=path)


def test_file_that_all_ranks_save_is_reported() -> None:
    traces = [rank(n, saved("/run/model.pt"), saved("/run/model.pt", 9)) for n in range(2)]

    (finding,) = compared(SavedByEveryRank, traces)

    assert isinstance(finding.diagnosis, SameFile)
    assert (finding.diagnosis.ranks, finding.diagnosis.times) == ([0, 1], 2)


@pytest.mark.parametrize(
    "other",
    [
        rank(1, saved("/run/model-1.pt")),
        rank(1, saved("/run/model.pt"), host="another"),
        rank(1, saved("/run/model.pt", 9)),
        rank(1),
    ],
    ids=["own file", "own machine", "other step", "one saves"],
)
def test_files_of_single_ranks_are_not_reported(other: Trace) -> None:
    assert compared(SavedByEveryRank, [rank(0, saved("/run/model.pt")), other]) == []


def test_save_to_a_device_is_not_reported() -> None:
    assert compared(SavedByEveryRank, [rank(n, saved("/dev/null")) for n in range(2)]) == []


def drawing(part: int, parts: int, rows: int = 64, *, trains: bool = True) -> LoaderSeen:
    sampler = SamplerSeen(
        kind="DistributedSampler", is_torch=True, draws=-(-rows // parts), parts=parts, part=part
    )
    return LoaderSeen(
        number=0, dataset="Table", rows=rows, trains=trains, evaluates=not trains, sampler=sampler
    )


def test_parts_that_no_rank_draws_are_reported() -> None:
    (finding,) = compared(RowsOnNoRank, [rank(n, drawing(n, 4)) for n in range(2)])

    assert isinstance(finding.diagnosis, PartsLeftOut)
    assert finding.diagnosis.left_out == 32


@pytest.mark.parametrize(
    "traces",
    [
        [rank(n, drawing(n, 2)) for n in range(2)],
        [rank(n, drawing(n // 2, 2), ranks=4) for n in range(4)],
        [rank(n, drawing(0, 1)) for n in range(2)],
        [rank(n, drawing(n, 4), ranks=4) for n in range(2)],
    ],
    ids=["all parts", "pairs share a part", "whole on each", "two ranks have no trace"],
)
def test_parts_that_ranks_draw_together_are_not_reported(traces: list[Trace]) -> None:
    assert compared(RowsOnNoRank, traces) == []


@pytest.mark.parametrize(("rows", "found"), [(17, 1), (18, 0), (100_001, 0)])
def test_copies_in_an_evaluation_are_noted_if_they_weigh(rows: int, found: int) -> None:
    traces = [rank(n, drawing(n, 2, rows, trains=False)) for n in range(2)]

    assert len(compared(PaddedEvaluation, traces)) == found


@pytest.mark.parametrize(("reduced", "found"), [(4, 1), (1, 0)])
def test_reductions_in_every_pass_are_noted(reduced: int, found: int) -> None:
    looks = [GradientsReduced(step=s, backwards=4, reduced=reduced, bytes=10**6) for s in (1, 3)]

    assert len(compared(MissingNoSync, [rank(n, *looks) for n in range(2)])) == found
