"""Hand-made traces of ranks: the same rows where gradients are averaged, the same order in every epoch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.detect.helpers import trace_with
from torchwhy.detect.causes.data.missing_set_epoch import MissingSetEpoch
from torchwhy.detect.causes.data.same_rows_on_every_rank import SameRows, SameRowsOnEveryRank
from torchwhy.finding import Finding
from torchwhy.record.inputs.data_events import EpochDrawn, LoaderSeen, SamplerSeen
from torchwhy.record.ranks.rank_events import GradientsShared
from torchwhy.record.trace import Trace

EVERY = GradientsShared(wrapper="DistributedDataParallel", ranks=[0, 1, 2, 3])
LOSSES = [3.0, 2.0, 1.5]


def _rank(
    rank: int,
    contents: str = "abcd",
    *,
    losses: list[float] = LOSSES,
    group: GradientsShared | None = EVERY,
    trains: bool = True,
) -> Trace:
    loader = LoaderSeen(
        number=0,
        dataset="Table",
        rows=64,
        trains=trains,
        evaluates=not trains,
        contents=list(contents),
        sampler=SamplerSeen(kind="RandomSampler", is_torch=True),
    )
    groups = [group] if group is not None else []
    return replace(trace_with(loader, *groups, losses=losses), rank=rank)


def _compared(*traces: Trace) -> list[Finding]:
    return list(SameRowsOnEveryRank().compare(traces))


def test_same_batches_and_losses_are_reported_once_for_all_ranks() -> None:
    (finding,) = _compared(*map(_rank, range(4)))

    assert isinstance(finding.diagnosis, SameRows)
    assert finding.diagnosis.ranks == [0, 1, 2, 3]
    assert finding.diagnosis.losses == 3


def test_pairs_of_ranks_that_share_rows_are_reported() -> None:
    found = _compared(_rank(0), _rank(1), _rank(2, "efgh"), _rank(3, "efgh"))

    assert [one.diagnosis.ranks for one in found if isinstance(one.diagnosis, SameRows)] == [
        [0, 1],
        [2, 3],
    ]


@pytest.mark.parametrize(
    "other",
    [
        _rank(1, "efgh"),
        _rank(1, "abce"),
        _rank(1, losses=[3.0, 2.0, 1.4]),
        _rank(1, losses=[3.0]),
        _rank(1, losses=[]),
        _rank(1, trains=False),
        _rank(1, ""),
    ],
    ids=["other rows", "one other batch", "own part", "one loss", "no loss", "evaluates", "unread"],
)
def test_ranks_that_differ_are_not_reported(other: Trace) -> None:
    assert _compared(_rank(0), other) == []


def test_one_batch_again_and_again_is_not_reported() -> None:
    assert _compared(_rank(0, "aaaa"), _rank(1, "aaaa")) == []


def test_ranks_that_no_wrapper_joins_may_share_rows() -> None:
    assert _compared(_rank(0, group=None), _rank(1, group=None)) == []


def test_ranks_of_different_groups_may_share_rows() -> None:
    # Ranks 0 and 1 hold parts of one model; gradients are averaged between 0 and 2, and between 1 and 3.
    even = GradientsShared(wrapper="DistributedDataParallel", ranks=[0, 2])
    odd = GradientsShared(wrapper="DistributedDataParallel", ranks=[1, 3])

    found = _compared(
        _rank(0, group=even),
        _rank(1, group=odd),
        _rank(2, "efgh", group=even),
        _rank(3, "efgh", group=odd),
    )

    assert found == []


def _epochs(*orders: str, shuffles: bool = True, kind: str = "DistributedSampler") -> Trace:
    epochs = [
        EpochDrawn(
            draws=32, distinct=32, ascending=False, order=order.lower(), trains=order.islower()
        )
        for order in orders
    ]
    sampler = SamplerSeen(kind=kind, is_torch=True, shuffles=shuffles)
    return trace_with(
        LoaderSeen(number=0, dataset="Table", rows=64, trains=True, sampler=sampler, epochs=epochs),
        losses=LOSSES,
    )


def test_same_order_in_every_epoch_is_reported() -> None:
    assert len(list(MissingSetEpoch().scan(_epochs("a", "a", "a")))) == 1


@pytest.mark.parametrize(
    "trace",
    [
        _epochs("a", "b", "c"),
        _epochs("a", "a", "b"),
        _epochs("a"),
        _epochs("A", "a"),  # a pass that does not train, in upper case
        _epochs("a", "a", shuffles=False),
        _epochs("a", "a", kind="RandomSampler"),
    ],
    ids=["other orders", "changes later", "one epoch", "read before", "in order", "other sampler"],
)
def test_other_orders_are_not_reported(trace: Trace) -> None:
    assert list(MissingSetEpoch().scan(trace)) == []
