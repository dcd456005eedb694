"""Which errors are told while a program runs, when, how often, and what withdraws them."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchwhy.detect.base import Detector
from torchwhy.detect.registry import all_detectors
from torchwhy.finding import SourceSpan
from torchwhy.follow import early_errors
from torchwhy.follow.live_diagnosis import STEPS_BETWEEN, LiveDiagnosis
from torchwhy.follow.live_lines import line_of
from torchwhy.record.events import Step
from torchwhy.record.learning import StaleGradients
from torchwhy.record.trace import Trace

HERE = Path("/home/me")


def stale(step: int, *, times: int, cleared: bool = False, line: int = 41) -> StaleGradients:
    place = SourceSpan(str(HERE / "train.py"), line, expression="optimizer.step()")
    return StaleGradients(
        step=step,
        optimizer=0,
        used_at_step=0,
        times=times,
        cleared_ever=cleared,
        stepped_at=place,
    )


def trace(steps: int, *events: StaleGradients, rank: int = 0) -> Trace:
    made = [Step(step=i, optimizer=0, losses=[1.0], milliseconds=1.0) for i in range(steps)]
    return Trace((*made, *events), rank=rank)


def never_cleared(steps: int, **options: int) -> Trace:
    return trace(steps, stale(1, times=1), stale(16, times=16), **options)


def test_an_error_is_told_once_when_a_second_look_shows_it_again():
    live = LiveDiagnosis(HERE)

    assert live.look([never_cleared(20)]) == []
    (change,) = live.look([never_cleared(61)])
    assert live.look([never_cleared(400)]) == []

    assert change.what == "finding"
    assert line_of(change) == (
        "step 60: `optimizer.step()` ran on gradients left over from step 0 (0 clears since then); "
        "nothing cleared them up to step 16, train.py:41 [missing-zero-grad]"
    )


def test_two_looks_at_the_same_steps_are_no_confirmation():
    live = LiveDiagnosis(HERE)

    for steps in (20, 20, 20 + STEPS_BETWEEN - 1):
        assert live.look([never_cleared(steps)]) == []
    assert len(live.look([never_cleared(20 + STEPS_BETWEEN)])) == 1


def test_what_one_look_alone_showed_begins_anew():
    live = LiveDiagnosis(HERE)

    live.look([never_cleared(20)])
    live.look([trace(40)])

    assert live.look([never_cleared(60)]) == []


@pytest.mark.parametrize(
    "last", [stale(8, times=8), stale(30, times=20, cleared=True)], ids=["few", "now and then"]
)
def test_an_error_that_a_longer_run_may_withdraw_is_not_told(last):
    live = LiveDiagnosis(HERE)

    changes = [change for steps in (31, 60, 90) for change in live.look([trace(steps, last)])]

    assert changes == []


def test_what_later_evidence_withdraws_is_withdrawn_once_and_never_told_again():
    live = LiveDiagnosis(HERE)
    live.look([never_cleared(20)])
    live.look([never_cleared(40)])

    (change,) = live.look([trace(400, stale(1, times=1), stale(390, times=32, cleared=True))])
    again = [live.look([never_cleared(steps)]) for steps in (420, 440, 460)]

    assert change.what == "withdrawn"
    assert line_of(change).startswith("step 399: withdrawn, the run has shown otherwise since: ")
    assert line_of(change).endswith("train.py:41 [missing-zero-grad]")
    assert again == [[], [], []]
    assert (live.told, len(live.withdrawn)) == ([], 1)


def test_what_is_no_error_in_the_report_is_withdrawn_at_the_end():
    live = LiveDiagnosis(HERE)
    live.look([never_cleared(20)])
    (told,) = live.look([never_cleared(40)])

    assert live.close([told.finding], step=99) == []
    (change,) = live.close([], step=99)

    assert (change.what, change.step) == ("withdrawn", 99)


def test_ranks_share_a_line():
    live = LiveDiagnosis(HERE)

    looks = [[never_cleared(steps, rank=rank) for rank in (0, 1)] for steps in (20, 40, 60)]
    told = [change.finding.rank for traces in looks for change in live.look(traces)]

    assert told == [0]


def test_an_error_of_another_rank_has_its_number():
    live = LiveDiagnosis(HERE)

    live.look([trace(20), never_cleared(20, rank=1)])
    (change,) = live.look([trace(40), never_cleared(40, rank=1)])

    assert line_of(change).endswith("train.py:41, rank 1 [missing-zero-grad]")


def test_a_cause_that_fails_withdraws_nothing(monkeypatch):
    live = LiveDiagnosis(HERE)
    live.look([never_cleared(20)])
    live.look([never_cleared(40)])

    def fails(_detector: Detector, _trace: Trace) -> list[object]:
        raise RuntimeError

    monkeypatch.setattr(early_errors, "findings_of", fails)

    assert live.look([trace(60)]) == []
    assert len(live.told) == 1


def test_a_cause_does_not_speak_early_unless_it_says_so():
    settled = {name for name, cause in all_detectors().items() if cause.settled}

    assert Detector.settled == ()
    assert settled == {
        "broadcast-in-loss",
        "frozen-everything",
        "lstm-batch-first",
        "missing-zero-grad",
        "probabilities-into-nll",
        "samples-mixed",
        "scheduler-misuse",
        "shared-state-dict-alias",
        "softmax-over-batch",
        "zero-grad-after-backward",
    }
