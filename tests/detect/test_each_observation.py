"""Each look of the microscope is read on its own, and what a later one shows is told with its step."""

from __future__ import annotations

import pytest

from tests.detect.helpers import optimizer
from tests.detect.test_wiring_parameters import BODY, HEAD, parameter
from tests.support.traces import trace
from torchwhy.detect.causes.wiring.broadcast_in_loss import BroadcastInLoss
from torchwhy.detect.causes.wiring.detached_graph import DetachedGraph
from torchwhy.detect.causes.wiring.frozen_everything import FrozenEverything
from torchwhy.detect.causes.wiring.parameters_not_in_optimizer import ParametersNotInOptimizer
from torchwhy.detect.each_observation import findings_of
from torchwhy.finding import SourceSpan
from torchwhy.record.events import OptimizerDescribed, OptimizerMade, Step
from torchwhy.record.learning import GraphCut, GraphOperation, LossRoot, ParameterCensus
from torchwhy.record.wiring import Followed, ParametersFollowed

SECOND = SourceSpan("train.py", 70, expression="Adam(body.parameters())")
CUT = SourceSpan("train.py", 80, expression="out.detach()")


def second() -> OptimizerMade:
    return OptimizerMade(index=1, kind="Adam", defaults={"lr": 1e-3}, location=SECOND)


def census(*parameters, step=200, look=1):
    return ParameterCensus(step=step, optimizer=look, parameters=list(parameters), look=look)


def later(*names, look=1):
    followed = [Followed(name=name, gradient=True) for name in names]
    return ParametersFollowed(step=216, updates=16, parameters=followed, look=look)


def subtraction(look, line):
    """Give a difference of (8, 1) and (8,) that goes into a mean, as one look sees it."""
    place = SourceSpan("train.py", line, expression="prediction - target")
    return [
        GraphOperation(
            order=1 + 10 * look, op="aten.addmm.default", step=100 * look, shape=[8, 1],
            parameters=["fc.weight"], differentiable=True, tracked=[True], look=look,
        ),
        GraphOperation(
            order=2 + 10 * look, op="aten.sub.Tensor", step=100 * look, location=place, shape=[8, 8],
            inputs=[1 + 10 * look, -1], input_shapes=[[8, 1], [8]], tracked=[True, False],
            differentiable=True, look=look,
        ),
        GraphOperation(
            order=3 + 10 * look, op="aten.mean.default", step=100 * look, inputs=[2 + 10 * look],
            input_shapes=[[8, 8]], tracked=[True], differentiable=True, look=look,
        ),
        LossRoot(step=100 * look, order=3 + 10 * look, value=1.0, look=look),
    ]  # fmt: skip


def test_events_of_a_later_look_are_not_those_of_the_first():
    run = trace(optimizer(), census(BODY, look=0, step=0), census(HEAD))

    assert [one.parameters for one in run.of(ParameterCensus)] == [[BODY]]
    assert [[c.parameters for c in p.of(ParameterCensus)] for p in run.later_observations] == [
        [[HEAD]]
    ]


def test_head_of_a_later_phase_is_reported_at_its_optimizer_and_step():
    run = trace(optimizer(), second(), census(BODY, HEAD), later("head.weight"))

    (finding,) = findings_of(ParametersNotInOptimizer(), run)

    assert finding.location == SECOND
    assert finding.step == 200
    assert "since step 200, in a later phase" in finding.message


def test_graph_of_each_look_is_read_on_its_own():
    run = trace(optimizer(), *subtraction(0, 5)[:1], *subtraction(1, 9))

    (finding,) = findings_of(BroadcastInLoss(), run)

    assert finding.location is not None
    assert (finding.location.line, finding.step) == (9, 100)


def test_fault_of_one_line_is_told_once_however_many_phases_run_over_it():
    run = trace(optimizer(), *subtraction(0, 5), *subtraction(1, 5), *subtraction(2, 5))

    (finding,) = findings_of(BroadcastInLoss(), run)

    assert finding.step == 0


def test_detector_that_reads_no_graph_is_not_asked_again():
    class Once(BroadcastInLoss):
        every_observation = False

    assert not list(findings_of(Once(), trace(optimizer(), *subtraction(1, 9))))


def test_optimizer_of_another_model_is_to_blame_for_its_dry_parameters():
    cut = GraphCut(
        step=200, optimizer=1, parameters=["body.weight"], how="no-grad", op="aten.mm.default",
        location=CUT, whole=True, look=1,
    )  # fmt: skip
    idle = parameter("body.weight", gradient="none")

    alone = findings_of(DetachedGraph(), trace(optimizer(), second(), cut, census(idle)))
    beside = trace(optimizer(), second(), cut, census(idle, HEAD), later("head.weight"))

    assert [one.severity for one in alone] == ["error"]
    assert [one.severity for one in findings_of(DetachedGraph(), beside)] == ["note"]


@pytest.mark.parametrize(
    ("before", "count"), [(["head.weight"], 1), (["head.weight", "body.weight"], 0)]
)
def test_what_a_later_optimizer_is_given_besides_should_not_be_frozen(before, count):
    frozen = parameter("body.weight", requires_grad=False, gradient="none", written_by="unknown")
    given = ["head.weight", "body.weight"]
    run = trace(
        optimizer(),
        OptimizerDescribed(index=0, parameters=before, shapes=[], dtypes=[]),
        Step(step=0, optimizer=0, losses=[1.0], milliseconds=1.0),
        second(),
        OptimizerDescribed(index=1, parameters=given, shapes=[], dtypes=[]),
        census(parameter("head.weight"), frozen),
    )

    findings = list(findings_of(FrozenEverything(), run))

    assert len(findings) == count
    assert all(one.location == SECOND for one in findings)
