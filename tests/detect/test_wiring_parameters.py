"""The detectors of who trains what: parameters left out, replaced, hidden, frozen, unused."""

from __future__ import annotations

import pytest

from tests.detect.helpers import optimizer
from tests.support.traces import LINE, program, trace
from torchwhy.detect.causes.wiring.frozen_everything import FrozenEverything
from torchwhy.detect.causes.wiring.parameters_not_in_optimizer import ParametersNotInOptimizer
from torchwhy.detect.causes.wiring.stale_optimizer_parameters import StaleOptimizerParameters
from torchwhy.detect.causes.wiring.unregistered_submodules import UnregisteredSubmodules
from torchwhy.detect.causes.wiring.unused_parameters import UnusedParameters
from torchwhy.finding import SourceSpan
from torchwhy.record.events import ModuleCalled, OptimizerDescribed
from torchwhy.record.learning import GraphOperation, ParameterCensus, ParameterSeen
from torchwhy.record.wiring import Followed, ParametersFollowed


def parameter(name, **more):
    given = {
        "shape": [4, 4],
        "in_optimizer": True,
        "requires_grad": True,
        "used": True,
        "gradient": "nonzero",
        "written_by": "random",
        "owner": "Linear",
        "module": f"net.{name.rpartition('.')[0]}",
        "model": "net",
        "made_at": LINE,
    }
    return ParameterSeen(name=name, **{**given, **more})


def census(*parameters):
    return ParameterCensus(step=0, optimizer=0, parameters=list(parameters))


def look(*names, updates=16, **more):
    found = [Followed(name=name, **more) for name in names]
    return ParametersFollowed(step=updates, updates=updates, parameters=found)


HEAD = parameter("head.weight", in_optimizer=False)
BODY = parameter("body.weight")
HEAD_HELD = parameter("head.weight")


def test_random_layer_that_nobody_trains_is_reported_where_the_optimizer_is_made():
    events = [optimizer(), census(BODY, HEAD), look("head.weight", gradient=True)]

    (finding,) = ParametersNotInOptimizer().scan(trace(*events))

    assert finding.severity == "error"
    assert finding.location == SourceSpan("train.py", 7)
    assert "head.weight of `net`" in finding.message


def test_model_that_is_wholly_left_out_is_a_warning():
    other = parameter("encoder.weight", in_optimizer=False, model="encoder")
    events = [optimizer(), census(BODY, other), look("encoder.weight", gradient=True)]

    (finding,) = ParametersNotInOptimizer().scan(trace(*events))

    assert finding.severity == "warning"


@pytest.mark.parametrize(
    ("one", "looks"),
    [
        (HEAD, look("head.weight", changed=True)),
        (HEAD, look("head.weight", in_optimizer=True)),
        (HEAD, look("head.weight", updates=1)),
        (parameter("head.weight", in_optimizer=False, written_by="loaded"), look("head.weight")),
        (parameter("head.weight", in_optimizer=False, training=False), look("head.weight")),
        (parameter("head.weight", in_optimizer=False, gradient="none"), look("head.weight")),
        (parameter("head.weight", in_optimizer=False, requires_grad=False), look("head.weight")),
    ],
    ids=["by hand", "later", "too short", "loaded", "in eval mode", "no gradient", "frozen"],
)
def test_parameters_left_out_for_a_reason_are_not_reported(one, looks):
    events = [optimizer(), census(BODY, one), looks]

    assert list(ParametersNotInOptimizer().scan(trace(*events))) == []


def test_parameters_of_a_later_optimizer_are_not_reported():
    later = OptimizerDescribed(
        index=1, parameters=["head.weight"], shapes=[[4, 4]], dtypes=["float32"]
    )
    events = [optimizer(), census(BODY, HEAD), look("head.weight"), later]

    assert list(ParametersNotInOptimizer().scan(trace(*events))) == []


def test_replaced_layer_is_reported_with_the_line_that_replaced_it():
    gone = parameter("parameter 2", registered=False, gradient="none", owner=None, model=None)
    events = [optimizer(), census(BODY, gone, HEAD), look("head.weight", "parameter 2")]

    (finding,) = StaleOptimizerParameters().scan(trace(*events))

    assert finding.location == SourceSpan("train.py", 7)
    assert finding.evidence[0].location == LINE


def test_optimizer_of_a_twin_model_is_reported():
    twin = parameter("twin.weight", gradient="none", model="twin")
    events = [optimizer(), census(twin, HEAD), look("head.weight", "twin.weight")]

    (finding,) = StaleOptimizerParameters().scan(trace(*events))

    assert "does not take part in training" in finding.message


def test_unused_head_beside_a_forgotten_one_is_no_replacement():
    spare = parameter("spare.weight", gradient="none", used=False)
    events = [optimizer(), census(BODY, spare, HEAD), look("head.weight", "spare.weight")]

    assert list(StaleOptimizerParameters().scan(trace(*events))) == []


def test_layer_in_a_plain_list_is_reported_where_it_is_made():
    hidden = parameter("Linear.weight", in_optimizer=False, registered=False, inside="net")
    events = [optimizer(), census(BODY, hidden), look("Linear.weight", gradient=True)]

    (finding,) = UnregisteredSubmodules().scan(trace(*events))

    assert finding.location == LINE
    assert "run inside `net`" in finding.message


def test_loaded_layer_hidden_on_purpose_is_not_reported():
    hidden = parameter(
        "Linear.weight", in_optimizer=False, registered=False, inside="net", written_by="loaded"
    )
    events = [optimizer(), census(BODY, hidden), look("Linear.weight", gradient=True)]

    assert list(UnregisteredSubmodules().scan(trace(*events))) == []


def test_parameters_without_use_are_a_note():
    spare = parameter("spare.weight", gradient="none", used=False)

    (finding,) = UnusedParameters().scan(
        trace(optimizer(), census(BODY, spare), look("spare.weight"))
    )

    assert finding.severity == "note"


def test_parameters_that_get_a_gradient_later_are_used():
    spare = parameter("spare.weight", gradient="none", used=False)
    events = [optimizer(), census(BODY, spare), look("spare.weight", gradient=True)]

    assert list(UnusedParameters().scan(trace(*events))) == []


def test_new_layer_frozen_while_loaded_weights_train_is_reported_at_the_freezing_line():
    seen = census(
        parameter("body.weight", written_by="loaded"),
        parameter("head.weight", requires_grad=False, gradient="none"),
    )
    source = program("for p in head.parameters():\n    p.requires_grad = False\n")

    (finding,) = FrozenEverything().scan(trace(optimizer(), seen, source))

    assert finding.location.line == 2
    assert finding.location.expression == "p.requires_grad = False"
    assert "the new layer is frozen" in finding.message


def test_all_parameters_frozen_is_reported():
    one = parameter("head.weight", requires_grad=False, gradient="none")

    (finding,) = FrozenEverything().scan(trace(optimizer(), census(one)))

    assert finding.location == SourceSpan("train.py", 7)


def called(path):
    return ModuleCalled(step=0, path=path, kind="Linear", inputs=[], outputs=[])


@pytest.mark.parametrize(("frozen", "count"), [("head", 1), ("body", 0)])
def test_of_a_random_model_only_the_output_layer_must_not_be_frozen(frozen, count):
    parameters = [
        parameter(
            f"{name}.weight",
            requires_grad=name != frozen,
            gradient="none" if name == frozen else "nonzero",
        )
        for name in ("body", "head")
    ]
    events = [optimizer(), called("net.body"), called("net.head"), census(*parameters)]

    assert len(list(FrozenEverything().scan(trace(*events)))) == count


@pytest.mark.parametrize(("join", "count"), [("add", 0), ("cat", 0), ("mm", 1)])
def test_what_is_added_to_the_result_of_a_frozen_layer_trains_there_on_purpose(join, count):
    frozen = {"requires_grad": False, "gradient": "none"}
    parameters = [
        parameter("body.weight", **frozen),
        parameter("extra.weight"),
        parameter("head.weight", **frozen),
    ]
    calls = [called(f"net.{name}") for name in ("body", "extra", "head")]
    graph = [
        GraphOperation(order=1, op="aten.mm.default", parameters=["body.weight"]),
        GraphOperation(order=2, op="aten.mm.default", inputs=[1], parameters=["extra.weight"]),
        GraphOperation(order=3, op=f"aten.{join}.default", inputs=[1, 2]),
    ]

    found = FrozenEverything().scan(trace(optimizer(), *calls, census(*parameters), *graph))

    assert len(list(found)) == count


FROZEN = parameter("body.weight", in_optimizer=False, requires_grad=False, gradient="none")


def test_layer_unfrozen_later_and_never_given_to_the_optimizer_is_reported():
    events = [
        optimizer(),
        census(HEAD_HELD, FROZEN),
        look("body.weight", gradient=True, thawed_for=12),
    ]

    (finding,) = ParametersNotInOptimizer().scan(trace(*events))

    assert finding.severity == "error"
    assert "unfrozen later" in finding.message


@pytest.mark.parametrize(
    "later",
    [
        {"gradient": True, "thawed_for": 1},  # a single look at a gradient
        {"gradient": True, "thawed_for": 12, "changed": True},
        {"gradient": True, "thawed_for": 12, "in_optimizer": True},
        {},
    ],
)
def test_layer_that_stays_frozen_or_is_trained_after_all_is_not_reported(later):
    events = [optimizer(), census(HEAD_HELD, FROZEN), look("body.weight", **later)]

    assert list(ParametersNotInOptimizer().scan(trace(*events))) == []


def test_parameters_in_a_plain_list_are_told_as_such_and_zero_gradients_beside_them():
    first = parameter(
        "net.left[0]", in_optimizer=False, registered=False, inside="net", owner="Parameter",
        gradient="zero",
    )  # fmt: skip
    second = parameter(
        "net.right[0]", in_optimizer=False, registered=False, inside="net", owner="Parameter"
    )
    names = ("net.left[0]", "net.right[0]")
    events = [optimizer(), census(BODY, first, second), look(*names, gradient=True)]

    (finding,) = UnregisteredSubmodules().scan(trace(*events))

    assert finding.message.startswith("`net` uses parameters in a plain list")
    assert "nn.ParameterList" in finding.fixes[0].title
