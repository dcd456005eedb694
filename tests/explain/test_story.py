"""The story: root cause first, consequences under it, nothing twice."""

from __future__ import annotations

from typing import Any

from tests.support.findings import said
from torchwhy.explain.story import tell
from torchwhy.finding import Evidence, Finding, SourceSpan
from torchwhy.record.events import Alarm, Birth, ForwardTwin
from torchwhy.record.trace import Trace


def birth(number: int, **facts: Any) -> Birth:
    given = {
        "step": 3,
        "kind": "operation",
        "phase": "forward",
        "op": "aten.log.default",
        "reaches": ["loss"],
    }
    return Birth(id=number, order=number, **{**given, **facts})


def finding(detector: str, *births: int, line: int | None = None, **facts: Any) -> Finding:
    location = (
        SourceSpan("train.py", line)
        if line is not None
        else SourceSpan("train.py", 100 + sum(births))
    )
    given = {
        "severity": "error",
        "diagnosis": said(f"{detector} happened"),
        "step": 3,
        "location": location,
    }
    return Finding(detector=detector, births=births, **{**given, **facts})


def story(findings: list[Finding], *births: Birth) -> list[Any]:
    """Return names only: a leaf is a name, a cause with consequences a (name, [consequences])."""
    return [_names(told) for told in tell(findings, Trace(births))]


def _names(told: Finding) -> Any:
    return (
        (told.detector, [_names(below) for below in told.explains])
        if told.explains
        else told.detector
    )


def test_a_nan_made_from_an_infinity_is_told_under_the_birth_of_the_infinity() -> None:
    births = birth(1), birth(2, kind="from-infinity", parents=[1])

    told = story([finding("infinity-arithmetic", 2), finding("exp-overflow", 1)], *births)

    assert told == [("exp-overflow", ["infinity-arithmetic"])]


def test_descent_is_followed_through_births_that_nobody_reported() -> None:
    births = (
        birth(1),
        birth(2, kind="from-infinity", parents=[1]),
        birth(3, kind="from-infinity", phase="clip", parents=[2]),
    )

    told = story([finding("clip-of-infinite-norm", 3), finding("exp-overflow", 1)], *births)

    assert told == [("exp-overflow", ["clip-of-infinite-norm"])]


def test_a_chain_is_told_link_by_link() -> None:
    births = (
        birth(1, kind="source", origin="batch"),
        birth(2, kind="from-infinity", parents=[1]),
        birth(3, kind="from-infinity", phase="accumulate", parents=[2]),
    )
    findings = [
        finding("accumulated-infinities", 3),
        finding("nonfinite-data", 1),
        finding("infinity-arithmetic", 2),
    ]

    assert story(findings, *births) == [
        ("nonfinite-data", [("infinity-arithmetic", ["accumulated-infinities"])])
    ]


def test_one_birth_without_a_known_parent_makes_a_finding_its_own_cause() -> None:
    births = birth(1), birth(2, kind="from-infinity", parents=[1]), birth(3, kind="from-infinity")

    told = story([finding("infinity-arithmetic", 2, 3), finding("exp-overflow", 1)], *births)

    assert told == ["exp-overflow", "infinity-arithmetic"]


def test_backward_of_an_expression_that_already_failed_forward_is_merged_with_it() -> None:
    births = birth(1), birth(2, phase="backward", node="LogBackward0", reaches=["gradient of w"])
    findings = [finding("log-of-nonpositive", 2, line=9), finding("log-of-nonpositive", 1, line=9)]

    (told,) = tell(findings, Trace(births))

    assert told.births == (1, 2)
    assert told.explains == ()
    assert "2 times" in told.evidence[-1].claim


def test_backward_of_another_cause_at_a_failed_forward_operation_is_told_under_it() -> None:
    twin = ForwardTwin(op="aten.div.Tensor", births=[1])
    births = (
        birth(1),
        birth(2, phase="backward", node="DivBackward0", forward=twin, reaches=["gradient of w"]),
    )

    told = story([finding("infinity-arithmetic", 2), finding("division-by-zero", 1)], *births)

    assert told == [("division-by-zero", ["infinity-arithmetic"])]


def test_learning_rate_is_the_cause_of_the_overflow_it_drove_and_of_all_after_it() -> None:
    births = birth(1), birth(2, kind="from-infinity", parents=[1]), birth(3, step=4)
    findings = [
        finding("infinity-arithmetic", 2),
        finding("float-overflow", 1),
        finding("log-of-nonpositive", 3, step=4),
        finding("learning-rate-too-high", 1, line=2),
    ]

    told = story(findings, *births)

    assert told == [
        (
            "learning-rate-too-high",
            [("float-overflow", ["infinity-arithmetic"]), "log-of-nonpositive"],
        )
    ]


def test_bad_weights_are_the_consequence_of_the_update_that_wrote_them() -> None:
    births = (
        birth(1, phase="update", op="aten.addcdiv_.default", reaches=["parameter w"]),
        birth(2, step=4, kind="source", origin="parameter"),
    )

    told = story(
        [finding("nonfinite-weights", 2, step=4), finding("optimizer-epsilon", 1)], *births
    )

    assert told == [("optimizer-epsilon", ["nonfinite-weights"])]


def test_bad_weights_come_before_what_they_break_in_the_same_step() -> None:
    births = birth(1, kind="source", origin="parameter"), birth(2)

    told = story([finding("log-of-nonpositive", 2), finding("nonfinite-weights", 1)], *births)

    assert told == ["nonfinite-weights", "log-of-nonpositive"]


def test_a_repeated_finding_is_told_once_with_its_count() -> None:
    births = [birth(number, step=number) for number in (1, 2, 3)]
    findings = [finding("log-of-nonpositive", number, line=7, step=number) for number in (3, 1, 2)]

    (told,) = tell(findings, Trace(tuple(births)))

    assert told.step == 1
    assert told.evidence[-1].value == 3.0
    assert "steps 1 to 3" in told.evidence[-1].claim


def test_two_expressions_on_one_line_are_two_findings() -> None:
    births = birth(1), birth(2)
    findings = [
        finding(
            "log-of-nonpositive",
            number,
            location=SourceSpan("train.py", 7, column=column, end_column=column + 5),
        )
        for number, column in ((1, 4), (2, 20))
    ]

    assert len(tell(findings, Trace(births))) == 2


def test_errors_come_before_warnings_before_notes() -> None:
    findings = [
        finding("overfitting", severity="note", step=0, line=1),
        finding("clip-of-infinite-norm", severity="warning", step=0, line=2),
        finding("unexplained-nonfinite", severity="error", step=9, line=3),
    ]

    assert story(findings) == ["unexplained-nonfinite", "clip-of-infinite-norm", "overfitting"]


def test_what_spoils_training_comes_before_what_is_only_printed() -> None:
    births = birth(1, step=0, reaches=["value read by the program"]), birth(2, step=5)

    told = story(
        [finding("empty-reduction", 1, step=0), finding("exp-overflow", 2, step=5)], *births
    )

    assert told == ["exp-overflow", "empty-reduction"]


def test_independent_findings_keep_the_order_of_their_births() -> None:
    births = birth(1, step=2), birth(2, step=2), birth(3, step=1)
    findings = [
        finding("exp-overflow", 2),
        finding("division-by-zero", 1),
        finding("domain-error", 3),
    ]

    assert story(findings, *births) == ["domain-error", "division-by-zero", "exp-overflow"]


def test_nan_of_the_backward_pass_of_an_infinite_loss_is_told_under_what_spoiled_the_loss() -> None:
    births = birth(1), birth(2, kind="from-infinity", phase="backward", reaches=["gradient of w"])

    told = story([finding("masked-branch-gradient", 2), finding("exp-overflow", 1)], *births)

    assert told == [("exp-overflow", ["masked-branch-gradient"])]


def test_a_backward_formula_that_fails_on_finite_numbers_stands_for_itself() -> None:
    births = birth(1), birth(2, phase="backward", node="SqrtBackward0", reaches=["gradient of w"])

    told = story([finding("root-gradient-at-zero", 2), finding("exp-overflow", 1)], *births)

    assert told == ["exp-overflow", "root-gradient-at-zero"]


def test_a_birth_is_told_by_the_cause_that_says_most_about_it() -> None:
    births = (birth(1, op="aten.div.Tensor"),)

    assert story([finding("division-by-zero", 1), finding("optimizer-epsilon", 1)], *births) == [
        "optimizer-epsilon"
    ]


def test_births_of_the_rerun_are_the_ones_that_count() -> None:
    rerun = Trace((birth(1), birth(2, kind="from-infinity", parents=[1])))
    trace = Trace((birth(7),), rerun=rerun)

    (told,) = tell([finding("infinity-arithmetic", 2), finding("exp-overflow", 1)], trace)

    assert told.detector == "exp-overflow"


def test_no_findings_give_no_story() -> None:
    assert tell([], Trace(())) == []


def test_exception_is_told_once_by_the_detector_that_says_most():
    told = [
        Finding(detector=name, severity="error", diagnosis=said(name), step=3, crash=0)
        for name in ("unexplained-error", "broadcast-mismatch", "ragged-last-batch")
    ]

    story = tell(told, Trace(()))

    assert [finding.detector for finding in story] == ["ragged-last-batch"]


def test_exceptions_of_different_steps_are_told_each():
    told = [
        Finding(
            "no-graph",
            "warning",
            said("a"),
            step=step,
            location=SourceSpan("t.py", step),
            evidence=(Evidence("x"),),
        )
        for step in (1, 2)
    ]

    assert len(tell(told, Trace(()))) == 2


def test_exception_after_a_bad_value_is_its_consequence():
    spoiled = Finding("log-of-nonpositive", "error", said("log of 0"), step=3, births=(1,))
    died = Finding("unexplained-error", "error", said("refused"), step=3, crash=0)
    trace = Trace((Alarm(step=3, optimizer=None, what="value", losses=[]), birth(1)))

    (root,) = tell([died, spoiled], trace)

    assert root.detector == "log-of-nonpositive"
    assert [below.detector for below in root.explains] == ["unexplained-error"]


def test_trouble_without_births_is_told_under_the_cause_that_may_explain_it() -> None:
    findings = [
        finding("collapsed-output", line=20),
        finding("dead-units", line=21),
        finding("learning-rate-too-high", line=7, step=0),
    ]

    assert story(findings) == [("learning-rate-too-high", [("dead-units", ["collapsed-output"])])]


def test_inputs_stand_behind_the_rate_that_is_too_high_for_them() -> None:
    findings = [
        finding("learning-rate-too-high", line=7, step=0),
        finding("unscaled-inputs", line=9, step=0),
        finding("dead-units", line=9, step=2),
    ]

    assert story(findings) == [("unscaled-inputs", [("learning-rate-too-high", ["dead-units"])])]


def test_a_later_finding_explains_no_earlier_one() -> None:
    findings = [finding("stuck-loss", line=3, step=0), finding("loss-spike", line=4, step=50)]

    assert sorted(map(str, story(findings))) == ["loss-spike", "stuck-loss"]
