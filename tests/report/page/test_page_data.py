"""The page as data: what it shows for which run, before any HTML."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from tests.report.page.example_pages import (
    FAILED_AT,
    crash,
    events,
    full_page,
    full_report,
    large_page,
)
from torchwhy.record.crashes import Crash
from torchwhy.record.events import ExceptionSeen, RunEnded, SampleValues, Step
from torchwhy.record.trace import Trace
from torchwhy.report.model import Report
from torchwhy.report.page.page_builder import Setting, build_page
from torchwhy.report.page.page_curves import MOST_POINTS, thinned
from torchwhy.report.page.page_heat import MOST_COLUMNS, MOST_ROWS
from torchwhy.report.page.page_values import sample_pairs

NOWHERE = Setting(Path("/nowhere"))


def test_the_failing_step_is_marked_on_all_curves():
    page = full_page()

    assert [chart.id for chart in page.curves] == ["loss", "gradient-norm", "learning-rate"]
    assert {chart.failed_at for chart in page.curves} == {FAILED_AT}


def test_a_loss_that_is_not_finite_leaves_a_gap():
    (loss,) = full_page().curves[0].series

    assert loss.y[-1] is None
    assert loss.x[-1] == FAILED_AT


def test_the_gradient_norm_is_that_of_all_elements():
    norm = full_page().curves[1].series[0].y[0]

    assert norm == pytest.approx(math.sqrt(16 * 0.5**2 + 4 * 0.25**2), rel=1e-4)


def test_learning_rates_are_drawn_as_they_held():
    (rate,) = full_page().curves[2].series

    assert list(zip(rate.x, rate.y, strict=True)) == [
        (0, 0.1),
        (149, 0.1),
        (150, 0.01),
        (300, 0.01),
    ]


def test_thinning_keeps_every_spike_and_the_first_bad_value():
    points = [(float(i), 1.0) for i in range(100_000)]
    points[51_234] = (51_234.0, 80.0)
    points[77_777] = (77_777.0, math.nan)

    kept = thinned(points)

    assert len(kept) <= 1.5 * MOST_POINTS
    assert (51_234.0, 80.0) in kept
    assert 77_777.0 in [x for x, y in kept if math.isnan(y)]
    assert kept[0] == points[0]
    assert kept[-1] == points[-1]


def test_the_path_goes_from_the_cause_through_the_source():
    page = full_page()

    assert [(station.number, station.role, station.place) for station in page.stations] == [
        (1, "cause", "train.py:7 in distance"),
        (2, "consequence", "train.py:44 in main"),
    ]
    (listing,) = page.listings
    cause = next(line for line in listing.lines if line.station == 1)
    assert cause.text[cause.start : cause.end] == "torch.sqrt(squared)"
    assert cause.labels == (
        "squared = 0 there, float32[32] in 0…3",
        "operand 2 of aten.div.Tensor = 2",
    )
    assert [line.number for line in listing.lines if line.number is None or line.station] == [
        7,
        None,
        44,
    ]


def test_without_the_text_of_the_program_there_is_no_listing():
    bare = [event for event in events() if getattr(event, "text", None) is None]

    page = build_page(full_report(), [Trace(tuple(bare))], NOWHERE)

    assert page.listings == ()
    assert page.stations


def test_a_heat_map_marks_what_is_not_finite():
    gradients = full_page().heat_maps[0]

    assert gradients.rows == ("fc.weight", "fc.bias")
    assert gradients.columns == (0, 1, 2, 50, 100, FAILED_AT)
    assert gradients.values[0] == (0.5, 0.5, 0.5, 0.5, 0.5, math.inf)


def test_a_thousand_layers_share_rows_and_the_largest_value_shows():
    gradients = large_page().heat_maps[0]

    assert len(gradients.rows) == MOST_ROWS
    assert len(gradients.columns) <= MOST_COLUMNS
    assert gradients.columns[-1] == 299 * 3300
    sample = gradients.columns[1] // 3300
    assert gradients.values[0][1] == 1e-3 * max(1 + (sample * layer) % 97 for layer in range(31))
    assert "1000 rows in 32 groups" in gradients.note


def test_operands_of_the_birth_have_histograms():
    (histogram,) = full_page().histograms

    assert histogram.title == "squared"
    assert histogram.counts == (1, 2, 8, 13, 5, 2)
    assert histogram.marks == (0.0,)


def test_an_image_is_drawn_with_its_bad_pixel():
    (pair,) = full_page().samples

    assert (pair.bad.kind, pair.good.kind) == ("image", "image")
    assert pair.bad.pixels[8][8] == (214, 40, 40)
    assert pair.good.pixels[8][8] == (255, 255, 255)
    assert pair.good.pixels[0][0] == (0, 0, 0)


@pytest.mark.parametrize(
    ("dtype", "shape", "kind"),
    [
        ("float32", [400], "curve"),
        ("float32", [1, 400], "curve"),
        ("float32", [8], "numbers"),
        ("int64", [400], "numbers"),
        ("float32", [20, 20], "image"),
        ("float32", [20, 20, 3], "image"),
        ("float32", [2, 200], "numbers"),
        ("int64", [], "numbers"),
    ],
)
def test_values_are_drawn_as_what_they_look_like(dtype, shape, kind):
    numbers = [1.0] * math.prod(shape)
    event = SampleValues(
        step=0, field="batch", dtype=dtype, shape=shape, every=[1] * len(shape), position=0,
        bad=numbers, good_position=1, good=numbers,
    )  # fmt: skip

    (pair,) = sample_pairs([event])

    assert pair.bad.kind == kind


def test_without_data_no_value_of_the_data_is_on_the_page():
    page = build_page(full_report(), [Trace(tuple(events()))], replace(NOWHERE, shows_data=False))

    assert page.samples == ()
    assert page.histograms == ()


def test_memory_is_shown_by_holder():
    memory = full_page().memory

    assert memory is not None
    assert memory.series[0].name == "history"
    assert memory.series[0].y == (8.0, 16.0, 32.0)
    assert "308 MB at step 2" in memory.note


def test_a_crash_shows_the_way_of_its_shapes():
    root = replace(full_report().findings[0], effect="exception", step=3)
    made = replace(full_report(), findings=(root,))

    page = build_page(made, [Trace((crash(),))], NOWHERE)

    assert [table.title for table in page.tables] == [
        "Tensors of the failing call",
        "The way of the shapes",
    ]
    assert page.tables[1].rows == (("input", "float32[8, 5]", ""),)
    assert isinstance(crash(), Crash)


def test_ranks_have_lanes_if_there_are_several():
    assert [(lane.rank, lane.steps) for lane in full_page().lanes] == [(0, 301), (1, 5)]
    assert build_page(full_report(), [Trace(tuple(events()))], NOWHERE).lanes == ()


def test_lanes_mark_an_exception_that_was_only_noted_and_a_rank_that_was_killed():
    steps = [Step(step=n, optimizer=0, losses=[1.0], milliseconds=2.0) for n in range(3)]
    lost = ExceptionSeen(step=3, type="RuntimeError", message="lost", caught=False)
    traces = [
        Trace((*steps, lost), exit_code=1),
        Trace(tuple(steps), rank=1, exit_code=1),
        Trace((*steps, RunEnded(steps=3)), rank=2, exit_code=1),
    ]

    lanes = build_page(full_report(), traces, NOWHERE).lanes

    assert [lane.moments for lane in lanes] == [
        ((3, "RuntimeError"),),
        ((3, "ended without an exception"),),
        (),
    ]


def test_checks_with_bad_news_come_first():
    assert [check.answer for check in full_page().checks] == ["no", "yes", "could-not-ask"]


def test_a_trial_has_both_curves():
    page = full_page()
    assert page.root is not None

    chart = page.root.fixes[0].chart

    assert chart is not None
    assert [series.name for series in chart.series] == ["without it", "with it"]


def test_a_healthy_run_has_a_page_too():
    steps = tuple(Step(step=i, optimizer=0, losses=[1.0], milliseconds=1.0) for i in range(3))

    page = build_page(Report(("train.py",), 3), [Trace(steps)], NOWHERE)

    assert page.root is None
    assert page.headline == "nothing found in 3 steps"
    assert page.outcome == "healthy"
    assert page.curves[0].failed_at is None


def test_a_run_without_a_trace_has_a_page_too():
    page = build_page(Report(("train.py",), 0, notes=("nothing was watched",)), [], NOWHERE)

    assert page.notes == ("nothing was watched",)
    assert page.charts == ()
