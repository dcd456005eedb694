"""Which collections are leaks, on small traces."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.traces import trace
from torchwhy.detect.causes.memory.growing_collection import GrowingCollection
from torchwhy.finding import SourceSpan
from torchwhy.record.learning import Held, Holdings

GROWN = SourceSpan("train.py", 9, expression="cache.append(x)")
READ = SourceSpan("train.py", 20, expression="cache")
CALL = SourceSpan("train.py", 12, expression="gc.collect()")
STEPS = (2, 4, 8, 16, 32)


def held(count: int, **facts: Any) -> Held:
    given: dict[str, Any] = {
        "name": "cache",
        "kind": "list",
        "tensors": count,
        "with_graph": 0,
        "bytes": 40_000 * count,
        "grown_at": GROWN,
    }
    return Held(**{**given, **facts})


def looks(**facts: Any) -> list[Holdings]:
    return [
        Holdings(step=step, held=[held(step, **facts)], resident_bytes=10**8, backwards=step)
        for step in STEPS
    ]


def collected(**facts: Any) -> Holdings:
    return Holdings(
        step=0,
        held=[held(1000, **facts)],
        resident_bytes=10**8,
        moment="collect",
        call=CALL,
        calls=1,
    )


def test_a_list_that_nobody_reads_is_a_warning_with_its_megabytes():
    (finding,) = GrowingCollection().scan(trace(*looks()))

    assert finding.severity == "warning"
    assert finding.location == GROWN
    assert "40 MB per 1000 steps" in finding.message
    assert finding.evidence[0].series == (2, 4, 8, 16, 32)


@pytest.mark.parametrize(
    "facts",
    [
        {"read_at": READ},
        {"kind": "deque(maxlen=50)"},
        {"emptied_at": SourceSpan("train.py", 7, expression="cache = []")},
        {"bytes": 128},
        {"grown_at": None},
    ],
    ids=["read", "bounded", "emptied", "small", "unknown-place"],
)
def test_what_is_used_bounded_small_or_of_unknown_origin_is_not_reported(facts):
    assert list(GrowingCollection().scan(trace(*looks(**facts)))) == []


def test_a_large_cache_that_is_read_is_only_noted():
    (finding,) = GrowingCollection().scan(
        trace(
            *(
                Holdings(
                    step=step,
                    held=[held(step, read_at=READ, bytes=4_000_000 * step)],
                    resident_bytes=10**8,
                    backwards=step,
                )
                for step in STEPS
            )
        )
    )

    assert finding.severity == "note"


def test_tensors_with_graphs_are_left_to_the_other_detector():
    growing = [
        Holdings(
            step=step, held=[held(step, with_graph=step)], resident_bytes=10**8, backwards=step
        )
        for step in STEPS
    ]

    assert list(GrowingCollection().scan(trace(*growing))) == []


def test_a_collect_that_can_free_nothing_is_a_warning_without_any_training():
    (finding,) = GrowingCollection().scan(trace(collected()))

    assert finding.severity == "warning"
    assert finding.step is None
    assert finding.location == GROWN
    assert "`gc.collect()` cannot free the 1000 tensors (40 MB)" in finding.message
    assert finding.evidence[0].location == CALL


@pytest.mark.parametrize(
    "facts",
    [
        {"read_at": READ, "read_later": True},
        {"bytes": 1000},
        {"tensors": 3},
        {"kind": "deque(maxlen=2000)"},
        {"tensors": 20, "grown_at": SourceSpan("train.py", 3, expression="cache = load()")},
    ],
    ids=["read-later", "small", "few", "bounded", "made-by-one-call"],
)
def test_a_collect_beside_tensors_that_are_needed_is_not_reported(facts):
    assert list(GrowingCollection().scan(trace(collected(**facts)))) == []
