"""Backward passes that cannot be: through a freed graph, over a changed value, from nothing, from many."""

from __future__ import annotations

import pytest

from tests.detect.crash_traces import LINE, crash, scan, tensor, trace_of
from torchwhy.detect.causes.errors.graph_freed import GraphFreed
from torchwhy.detect.causes.errors.inplace_modification import InplaceModification
from torchwhy.detect.causes.errors.no_graph import NoGraph
from torchwhy.detect.causes.errors.non_scalar_backward import NonScalarBackward
from torchwhy.finding import SourceSpan

FREED = "Trying to backward through the graph a second time (or directly access saved tensors …)"
CHANGED = "one of the variables needed for gradient computation has been modified by an inplace operation: …"
NONE = "element 0 of tensors does not require grad and does not have a grad_fn"
MANY = "grad can be implicitly created only for scalar outputs"
READ = SourceSpan("model.py", 31, expression="hidden")


def test_carried_state_is_blamed_where_it_is_read():
    facts = {"carried": "hidden", "way": "loop", "is_sum": False, "diff": "-a\n+b\n"}

    finding = scan(GraphFreed, crash(FREED, facts=facts, places={"carried": READ}))

    assert finding.location == READ
    assert finding.message.startswith("`hidden` still holds the graph of the previous iteration")
    assert finding.fixes[0].diff == "-a\n+b\n"


@pytest.mark.parametrize(
    ("facts", "advice"),
    [
        ({"carried": "total", "way": "loop", "is_sum": True}, "add its `.item()` to `total`"),
        (
            {"carried": "state", "way": "loop", "is_collection": True},
            "detach each tensor in `state`",
        ),
        ({"carried": "features", "way": "before-loop"}, "compute `features` inside the loop"),
        ({"way": "twice", "first": "a", "second": "b"}, "`(a + b).backward()`"),
        ({"way": "twice", "first": "a", "second": "a"}, "remove the second"),
        ({"way": "shared", "shared": "fake"}, "`fake.detach()`"),
        ({}, "detach values carried over"),
    ],
)
def test_every_way_to_a_freed_graph_has_its_own_advice(facts, advice):
    finding = scan(GraphFreed, crash(FREED, facts=facts))

    assert advice in finding.fixes[0].title


def test_writer_is_blamed_and_the_order_is_told():
    written = SourceSpan("train.py", 12, expression="hidden += 1")
    needed = SourceSpan("train.py", 11, expression="head(hidden)")
    facts = {"variable": "hidden", "node": "AddmmBackward0", "shape": [6, 8], "times_written": 1.0}

    finding = scan(
        InplaceModification,
        crash(CHANGED, facts=facts, places={"written": written, "needed": needed}),
    )

    assert finding.location == written
    assert [evidence.location for evidence in finding.evidence[:2]] == [needed, written]
    assert "6×8 and was changed once" in finding.evidence[2].claim
    assert finding.fixes[0].title == "create a new tensor: `hidden = hidden + 1`"


def test_optimizer_step_before_backward_is_told_as_such():
    written = SourceSpan("train.py", 12, expression="optimizer.step()")

    finding = scan(
        InplaceModification, crash(CHANGED, facts={"phase": "update"}, places={"written": written})
    )

    assert "changes the weights between the forward pass" in finding.message


def test_unknown_writer_leaves_the_failing_line():
    finding = scan(InplaceModification, crash(CHANGED))

    assert finding.location == LINE


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        (
            "a leaf Variable that requires grad is being used in an in-place operation.",
            "torch.no_grad()",
        ),
        (
            "a view of a leaf Variable that requires grad is being used in an in-place operation.",
            "torch.no_grad()",
        ),
        ("Output 0 of Unbind is a view and is being modified inplace. This view …", "clone()"),
    ],
)
def test_changes_that_are_refused_at_once_are_told_at_their_line(message, advice):
    finding = scan(InplaceModification, crash(message))

    assert finding.location == LINE
    assert advice in finding.fixes[0].title


def test_cut_is_blamed_with_its_reason():
    cut = SourceSpan("losses.py", 4, expression="scores.argmax(1)")
    facts = {"loss": "loss", "why": "`argmax` has no derivative", "kind": "argmax"}

    finding = scan(NoGraph, crash(NONE, facts=facts, places={"cut": cut}))

    assert finding.location == cut
    assert (
        finding.message
        == "`loss` has no graph, because `scores.argmax(1)` cuts it: `argmax` has no derivative"
    )


def test_unknown_cut_leaves_the_failing_line():
    finding = scan(NoGraph, crash(NONE))

    assert finding.location == LINE
    assert "has no graph" in finding.message


def test_number_of_elements_is_told():
    finding = scan(
        NonScalarBackward, crash(MANY, operands=[tensor("loss", 6, 3, graph="PowBackward0")])
    )

    assert (
        finding.message
        == "`loss` has 18 elements (6×3), but a backward pass must start from one number"
    )


@pytest.mark.parametrize("detector", [GraphFreed, InplaceModification, NoGraph, NonScalarBackward])
def test_exceptions_that_the_program_raises_itself_are_not_judged(detector):
    raised = [crash(message, raised_by="user") for message in (FREED, CHANGED, NONE, MANY)]

    assert list(detector().scan(trace_of(*raised))) == []
