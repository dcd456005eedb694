"""What counts as kept graphs, on small traces."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.traces import trace
from torchwhy.detect.causes.memory.retained_graph import RetainedGraph
from torchwhy.finding import SourceSpan
from torchwhy.record.events import Alarm
from torchwhy.record.learning import Held, Holdings

GROWN = SourceSpan("train.py", 14, 14, 4, 23, "<module>", None, "losses.append(loss)")
SUMMED = SourceSpan("train.py", 15, 15, 4, 17, "<module>", None, "total += loss")
RESET = SourceSpan("train.py", 8, 8, 4, 15, "<module>", None, "losses = []")
STEPS = (2, 4, 8, 16, 32)


def losses(count: int, **facts: Any) -> Held:
    given: dict[str, Any] = {
        "name": "losses",
        "kind": "list",
        "tensors": count,
        "with_graph": count,
        "bytes": 4 * count,
        "grown_at": GROWN,
        "grown_line": "    losses.append(loss)",
    }
    return Held(**{**given, **facts})


def looks(counts: list[int], **facts: Any) -> list[Holdings]:
    return [
        Holdings(step=step, held=[losses(count, **facts)], resident_bytes=10**8, backwards=step + 1)
        for step, count in zip(STEPS, counts, strict=False)
    ]


def test_a_list_that_grows_with_every_step_is_an_error_at_the_line_that_fills_it():
    (finding,) = RetainedGraph().scan(trace(*looks([2, 4, 8, 16, 32])))

    assert finding.severity == "error"
    assert finding.location == GROWN
    assert finding.evidence[0].series == (2, 4, 8, 16, 32)
    assert "32 tensors with their graphs after 32 steps, one more each step" in finding.message
    assert "+    losses.append(loss.item())" in finding.fixes[0].diff


def test_a_list_that_the_source_empties_each_epoch_is_only_a_warning():
    (finding,) = RetainedGraph().scan(trace(*looks([2, 4, 8, 16, 32], emptied_at=RESET)))

    assert finding.severity == "warning"
    assert "line 8" in finding.message


def test_a_list_seen_to_be_emptied_is_only_a_warning():
    (finding,) = RetainedGraph().scan(trace(*looks([2, 4, 8, 16, 3])))

    assert finding.severity == "warning"
    assert "stopped growing" in finding.message


def test_a_list_that_leaves_the_line_upwards_still_grows():
    (finding,) = RetainedGraph().scan(trace(*looks([2, 4, 8, 16, 90])))

    assert finding.severity == "error"


def test_a_list_that_stopped_growing_is_only_a_warning():
    (finding,) = RetainedGraph().scan(trace(*looks([2, 4, 8, 16, 16])))

    assert finding.severity == "warning"


@pytest.mark.parametrize(
    "counts",
    [[20, 20, 20, 20, 20], [2, 4, 2, 4, 2], [2, 3, 3, 3, 3], [0, 1, 2, 3, 4], [2, 4, 8]],
    ids=["constant", "changing", "bounded", "slow", "too-few-looks"],
)
def test_what_does_not_grow_in_proportion_is_not_reported(counts):
    assert list(RetainedGraph().scan(trace(*looks(counts)))) == []


def test_losses_that_are_added_up_and_differentiated_are_not_reported():
    kept = looks([2, 4, 8, 16, 32], emptied_at=RESET, feeds_backward=True)

    assert list(RetainedGraph().scan(trace(*kept))) == []


@pytest.mark.parametrize(
    "bound",
    [
        {"kind": "deque(maxlen=100)"},
        {"emptied_at": SourceSpan("train.py", 9, expression="losses.pop(0)")},
        {"emptied_at": SourceSpan("train.py", 9, expression="losses = losses[1:]")},
        {"emptied_at": SourceSpan("train.py", 9, expression="losses[0]")},
    ],
    ids=["deque", "pop", "slice", "del"],
)
def test_a_collection_that_the_program_bounds_is_not_reported(bound):
    assert list(RetainedGraph().scan(trace(*looks([2, 4, 8, 16, 32], **bound)))) == []


def test_tensors_without_a_graph_are_not_reported():
    assert list(RetainedGraph().scan(trace(*looks([2, 4, 8, 16, 32], with_graph=0)))) == []


def test_a_sum_is_followed_by_the_operations_behind_it():
    kept = [
        Holdings(
            step=step,
            held=[
                Held(
                    name="total",
                    kind="tensor",
                    tensors=1,
                    with_graph=1,
                    bytes=4,
                    graph_nodes=step - 2,
                    grown_at=SUMMED,
                    grown_line="    total += loss",
                )
            ]
            if step > 2
            else [],
            resident_bytes=10**8,
            backwards=step + 1,
        )
        for step in STEPS
    ]

    (finding,) = RetainedGraph().scan(trace(*kept))

    assert finding.location == SUMMED
    assert finding.evidence[0].series == (0, 2, 6, 14, 30)
    assert "+    total += loss.item()" in finding.fixes[0].diff


def test_what_is_derived_from_a_sum_is_not_told_beside_it():
    average = SourceSpan("train.py", 16, expression="average = total / count")
    both = [
        Holdings(
            step=step,
            held=[
                Held(
                    name=name, kind="tensor", tensors=1, with_graph=1, bytes=4,
                    graph_nodes=step, grown_at=place,
                )
                for name, place in (("average", average), ("total", SUMMED))
            ],
            resident_bytes=10**8,
            backwards=step + 1,
        )
        for step in STEPS
    ]  # fmt: skip

    (finding,) = RetainedGraph().scan(trace(*both))

    assert finding.location == SUMMED


def test_where_a_step_failed_the_kept_graphs_are_not_what_broke_it():
    alarm = Alarm(step=30, optimizer=0, what="loss", losses=["nan"])

    (finding,) = RetainedGraph().scan(trace(*looks([2, 4, 8, 16, 32]), alarm))

    assert finding.severity == "warning"


def test_growth_between_two_steps_is_a_warning_about_the_evaluation():
    kept = [
        Holdings(
            step=10,
            held=[losses(batches + 1)],
            resident_bytes=10**8,
            moment="batch",
            batches=batches,
            backwards=10,
        )
        for batches in (4, 8, 16, 32)
    ]

    (finding,) = RetainedGraph().scan(trace(*kept))

    assert finding.severity == "warning"
    assert "after 32 batches" in finding.message


def test_batches_with_backward_passes_between_them_are_no_evaluation():
    kept = [
        Holdings(
            step=10,
            held=[losses(batches + 1)],
            resident_bytes=10**8,
            moment="batch",
            batches=batches,
            backwards=10 + batches,
        )
        for batches in (4, 8, 16, 32)
    ]

    assert list(RetainedGraph().scan(trace(*kept))) == []


def test_steady_growth_of_the_process_is_told_and_memory_taken_once_is_not():
    counts = [2, 4, 8, 16, 32]
    steady = [
        Holdings(step=s, held=[losses(s)], resident_bytes=10**8 + s * 10**6, backwards=s)
        for s in STEPS
    ]
    once = [
        Holdings(step=s, held=[losses(c)], resident_bytes=10**8 + (s > 2) * 10**7, backwards=s)
        for s, c in zip(STEPS, counts, strict=True)
    ]

    (growing,) = RetainedGraph().scan(trace(*steady))
    (flat,) = RetainedGraph().scan(trace(*once))

    assert any("1e+03 MB per 1000 steps" in fact.claim for fact in growing.evidence)
    assert not any("MB" in fact.claim for fact in flat.evidence)


def test_a_vain_gc_collect_is_told():
    call = SourceSpan("train.py", 20, expression="gc.collect()")
    vain = Holdings(
        step=32, held=[losses(31)], resident_bytes=10**8, moment="collect", call=call, calls=3
    )

    (finding,) = RetainedGraph().scan(trace(*looks([2, 4, 8, 16, 32]), vain))

    assert finding.evidence[-1].claim.startswith("`gc.collect()` ran 3 times and freed none")
    assert finding.evidence[-1].location == call
