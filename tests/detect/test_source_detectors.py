"""The detectors of values that came in from outside: literal, data, weights, unwritten memory."""

from __future__ import annotations

from tests.support.traces import LINE, birth, source, trace
from torchwhy.detect.causes.numerics.nonfinite_data import NonfiniteData
from torchwhy.detect.causes.numerics.nonfinite_literal import NonfiniteLiteral
from torchwhy.detect.causes.numerics.nonfinite_weights import NonfiniteWeights
from torchwhy.detect.causes.numerics.uninitialised_memory import UninitialisedMemory
from torchwhy.finding import Sample, SourceSpan
from torchwhy.record.events import ArrayWarning, TensorFacts

NUMPY_LINE = SourceSpan("train.py", 2, expression="a / b")


def test_literal_that_reached_the_loss_is_reported_at_its_expression():
    (finding,) = NonfiniteLiteral().scan(trace(source("literal", value="inf")))

    assert finding.location == LINE
    assert "`f(x)` contains the constant +inf" in finding.message


def test_infinity_that_an_operation_turned_into_nan_is_left_to_that_operation():
    mask = source("literal", value="-inf", reaches=[])
    softmax = birth("aten._softmax.default", id=2, kind="from-infinity", parents=[1])

    assert list(NonfiniteLiteral().scan(trace(mask, softmax))) == []


def test_infinity_that_reached_the_loss_itself_is_reported_although_nan_was_made_of_it_later():
    later = birth(id=2, kind="from-infinity", phase="backward", parents=[1])

    assert len(list(NonfiniteLiteral().scan(trace(source("literal", value="inf"), later)))) == 1


def test_healed_literal_is_silent():
    assert list(NonfiniteLiteral().scan(trace(source("literal", reaches=[])))) == []


def test_bad_batch_names_field_sample_dataset_index_and_column():
    output = TensorFacts(dtype="float32", shape=[8, 4], nan=1, first_bad_index=[5, 2])
    one = source("batch", field="batch[0]", positions=[5], dataset_indices=[37], output=output)

    (finding,) = NonfiniteData().scan(trace(one))

    assert finding.sample == Sample(5, 37)
    assert "`batch[0]` contained NaN" in finding.message
    assert "(sample 5, dataset index 37, column 2)" in finding.message


def test_line_on_which_numpy_warned_is_the_place_of_the_finding():
    warning = ArrayWarning(
        step=-1, message="invalid value encountered in divide", location=NUMPY_LINE
    )

    (finding,) = NonfiniteData().scan(trace(warning, source("array", origin_name="x")))

    assert finding.location == NUMPY_LINE
    assert any(evidence.location == LINE for evidence in finding.evidence)


def test_numpy_warning_about_another_kind_of_value_is_not_blamed():
    warning = ArrayWarning(step=-1, message="overflow encountered in exp", location=NUMPY_LINE)

    (finding,) = NonfiniteData().scan(trace(warning, source("array", value="nan")))

    assert finding.location == LINE


def test_numpy_warning_after_the_failure_is_not_blamed():
    warning = ArrayWarning(
        step=4, message="invalid value encountered in divide", location=NUMPY_LINE
    )

    (finding,) = NonfiniteData().scan(trace(warning, source("array")))

    assert finding.location == LINE


def test_bad_parameter_that_no_update_wrote_is_reported_by_name():
    (finding,) = NonfiniteWeights().scan(
        trace(source("parameter", origin_name="fc.weight", step=0))
    )

    assert "parameter `fc.weight` already contained NaN when step 0 began" in finding.message


def test_bad_parameter_that_an_update_of_this_run_wrote_is_left_to_the_update():
    update = birth(
        "aten.addcdiv_.default", id=1, step=2, phase="update", reaches=["parameter fc.weight"]
    )

    assert list(NonfiniteWeights().scan(trace(update, source("parameter", id=2, step=3)))) == []


def test_memory_that_was_never_written_is_reported_where_it_was_made():
    (finding,) = UninitialisedMemory().scan(trace(source("uninitialised", origin_name="gain")))

    assert finding.location == LINE
    assert "(now `gain`)" in finding.message
