"""irreproducible-step and unexplained-nonfinite: what is said when no operation can be named."""

from __future__ import annotations

import pytest

from tests.support.traces import LINE, birth, trace
from torchwhy.detect.causes.machines.irreproducible_step import IrreproducibleStep
from torchwhy.detect.causes.numerics.unexplained_nonfinite import UnexplainedNonfinite
from torchwhy.record.events import Alarm, MicroscopeLeft, Replayed, Step

ALARM = Alarm(
    step=3, optimizer=0, what="gradient", losses=[0.5], names=["fc.weight"], location=LINE
)


def replayed(*, reproduced, **facts):
    return Replayed(step=3, how="in-place", reproduced=reproduced, **facts)


def test_step_that_was_finite_the_second_time_is_reported():
    (finding,) = IrreproducibleStep().scan(trace(ALARM, replayed(reproduced=False, faithful=True)))

    assert finding.location == LINE
    assert "finite when it was repeated in place" in finding.message


def test_a_loop_that_moved_on_is_not_called_irreproducible():
    moved = trace(ALARM, replayed(reproduced=False, faithful=False, moved=["i", "xb"]))

    assert list(IrreproducibleStep().scan(moved)) == []
    (finding,) = UnexplainedNonfinite().scan(moved)
    assert "the loop moved on and could not be repeated in place (`i`, `xb` had" in finding.message
    assert "--rerun-limit" in finding.fixes[0].title


def test_a_second_run_that_took_another_course_is_not_called_irreproducible():
    rerun = trace(Replayed(step=3, how="rerun", reproduced=False, faithful=False, detail="1 of 3"))
    moved = trace(ALARM, replayed(reproduced=False, faithful=False), rerun=rerun)

    assert list(IrreproducibleStep().scan(moved)) == []
    (finding,) = UnexplainedNonfinite().scan(moved)
    assert "a second run was finite at that step (1 of 3)" in finding.message


def test_data_that_differ_in_a_second_run_are_named():
    rerun = trace(Replayed(step=3, how="rerun", reproduced=False, faithful=True, moved=["x"]))

    (finding,) = IrreproducibleStep().scan(
        trace(ALARM, replayed(reproduced=False, faithful=False), rerun=rerun)
    )

    assert "because `x` had other values there" in finding.message
    assert "memory" not in finding.fixes[0].title


def test_compiled_code_that_differs_from_eager_code_is_named_as_such():
    (finding,) = IrreproducibleStep().scan(
        trace(ALARM, replayed(reproduced=False, faithful=True, eager_of_compiled=True))
    )

    assert "compiled code" in finding.message


def test_word_of_the_rerun_counts_more_than_that_of_the_replay_in_place():
    rerun = trace(Replayed(step=3, how="rerun", reproduced=True))

    assert (
        list(IrreproducibleStep().scan(trace(ALARM, replayed(reproduced=False), rerun=rerun))) == []
    )


@pytest.mark.parametrize("reproduced", [True, None])
def test_step_that_failed_again_or_was_never_compared_is_not_irreproducible(reproduced):
    assert list(IrreproducibleStep().scan(trace(ALARM, replayed(reproduced=reproduced)))) == []


def test_alarm_without_any_birth_says_what_is_known():
    steps = [
        Step(step=number, optimizer=0, losses=[1.0 / (number + 1)], milliseconds=1.0)
        for number in range(4)
    ]
    left = MicroscopeLeft(
        step=0, reason="it took more than a minute", operations=9, seconds=60.0, cut_short=True
    )

    (finding,) = UnexplainedNonfinite().scan(trace(*steps, left, ALARM, replayed(reproduced=True)))

    assert "gradient (fc.weight) was not finite at step 3" in finding.message
    assert finding.location == LINE
    assert finding.evidence[0].series == (1.0, 0.5, pytest.approx(1 / 3), 0.25)
    assert any(
        "repeated the step in place: it failed" in evidence.claim for evidence in finding.evidence
    )
    assert any("more than a minute" in evidence.claim for evidence in finding.evidence)


def test_birth_that_no_detector_knows_is_named():
    one = birth("custom.secret_sauce.default")

    (finding,) = UnexplainedNonfinite().scan(trace(one, ALARM))

    assert finding.births == (1,)
    assert "`f(x)` produced NaN" in finding.message


def test_nothing_is_unexplained_where_another_detector_has_the_cause():
    from tests.support.traces import source

    assert list(UnexplainedNonfinite().scan(trace(source("batch"), ALARM))) == []


def test_healthy_run_has_nothing_unexplained():
    assert list(UnexplainedNonfinite().scan(trace())) == []
    assert list(IrreproducibleStep().scan(trace())) == []


def test_detector_that_fails_does_not_silence_the_last_resort(monkeypatch):
    def fail(*_):
        raise RuntimeError("a mistake in another detector")

    monkeypatch.setattr(IrreproducibleStep, "scan", fail)

    assert len(list(UnexplainedNonfinite().scan(trace(ALARM)))) == 1
