"""Which `except` takes an exception, what it costs, and that the watch leaves nothing behind."""

from __future__ import annotations

import ast
import contextlib
import sys
from types import TracebackType

import pytest
import torch

from torchwhy.replay.crash.caught_exceptions import comes_out_of_a_step, handler_of
from torchwhy.replay.crash.exception_watchers import Monitor, Tracer
from torchwhy.source import files
from torchwhy.source.analyses.handlers import Handler, costs_step


@pytest.fixture(autouse=True)
def torch_is_known():
    files.remember_torch(torch.__file__)


def trace_to_here(error: BaseException) -> TracebackType:
    assert error.__traceback__ is not None
    return error.__traceback__


def caught_by(error: BaseException) -> list[str]:
    """Return what is done instead, in the source of the test that caught the exception."""
    trace = trace_to_here(error)
    catch = handler_of(trace.tb_frame, trace.tb_lineno, error)
    return [ast.unparse(statement) for statement in catch.instead] if catch is not None else []


def test_matching_clause_is_found_behind_others():
    try:
        torch.zeros(2) @ torch.zeros(3)
    except KeyError:
        pass
    except (ValueError, RuntimeError) as error:
        found = caught_by(error)

    assert found == ["found = caught_by(error)"]


def test_clause_for_other_exceptions_is_passed_over():
    try:
        try:
            torch.zeros(2) @ torch.zeros(3)
        except KeyError:
            found = ["the wrong one"]
    except RuntimeError as outer:
        found = caught_by(outer)

    assert found == ["found = caught_by(outer)"]


def test_suppress_is_a_catch():
    caught = []
    with contextlib.suppress(RuntimeError):
        try:
            torch.zeros(2) @ torch.zeros(3)
        finally:
            error = sys.exc_info()[1]
            caught.append(handler_of(sys._getframe(), error.__traceback__.tb_lineno, error))

    assert caught[0] is not None
    assert caught[0].instead == []


def clause(text: str) -> Handler:
    (node,) = (part for part in ast.walk(ast.parse(text)) if isinstance(part, ast.Try))
    return Handler(None, node.body, node.handlers[0].body)


@pytest.mark.parametrize(
    ("text", "costs"),
    [
        ("for x in y:\n try:\n  z = f(x)\n except RuntimeError:\n  continue", True),
        ("try:\n loss.backward()\n optimizer.step()\nexcept RuntimeError as e:\n print(e)", True),
        ("def g():\n try:\n  z = f(x)\n except RuntimeError:\n  return None", True),
        ("try:\n z = x.view(-1)\nexcept RuntimeError:\n z = x.reshape(-1)", False),
        (
            "def g():\n try:\n  return x.view(-1)\n except RuntimeError:\n  return x.reshape(-1)",
            False,
        ),
        (
            "try:\n loss.backward()\nexcept RuntimeError as e:\n raise ValueError('bad') from e",
            False,
        ),
    ],
)
def test_cost_is_read_off_the_source(text, costs):
    assert costs_step(clause(text)) is costs


def step_error() -> TracebackType:
    try:
        torch.nn.functional.cross_entropy(torch.zeros(2, 3), torch.zeros(3, dtype=torch.long))
    except (RuntimeError, ValueError) as error:
        return trace_to_here(error)
    raise AssertionError


def loading_error() -> TracebackType:
    try:
        torch.nn.Linear(2, 2).load_state_dict({})
    except RuntimeError as error:
        return trace_to_here(error)
    raise AssertionError


def own_error() -> TracebackType:
    try:
        raise ValueError("bad config")  # noqa: TRY301 - whose raise it is, is the question
    except ValueError as error:
        return trace_to_here(error)


def schedule_error() -> TracebackType:
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=2)
    optimizer.step()
    try:
        for _ in range(4):
            schedule.step()
    except ValueError as error:
        return trace_to_here(error)
    raise AssertionError


def update_error() -> TracebackType:
    """Raise in an optimizer's step, which a schedule has wrapped."""
    parameter = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SparseAdam([parameter], lr=0.1)
    torch.optim.lr_scheduler.StepLR(optimizer, 1)
    parameter.grad = torch.zeros(1)
    try:
        optimizer.step()
    except RuntimeError as error:
        return trace_to_here(error)
    raise AssertionError


def test_only_errors_of_operations_count():
    assert comes_out_of_a_step(step_error())
    assert comes_out_of_a_step(update_error())
    assert not comes_out_of_a_step(schedule_error())
    assert not comes_out_of_a_step(loading_error())
    assert not comes_out_of_a_step(own_error())


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="newer Pythons are monitored, not traced")
def test_tracer_sees_an_exception_that_is_handled_and_leaves_nothing_behind(monkeypatch):
    before = sys.gettrace()
    monkeypatch.setattr("sys.gettrace", lambda: None)  # coverage or a debugger may be on
    seen = []
    tracer = Tracer(lambda error, _: seen.append(type(error)))
    tracer.begin()
    frame = sys._getframe()
    with contextlib.suppress(RuntimeError):
        torch.zeros(2) @ torch.zeros(3)
    monkeypatch.undo()

    tracer.end()

    assert seen == [RuntimeError]
    assert frame.f_trace is None
    assert sys.gettrace() is None
    sys.settrace(before)


def test_tracer_gives_way_to_a_trace_function_of_the_program(monkeypatch):
    theirs = object()
    monkeypatch.setattr("sys.gettrace", lambda: theirs)
    monkeypatch.setattr(
        "sys.settrace", lambda _: pytest.fail("the program's own trace function was replaced")
    )

    tracer = Tracer(lambda *_: None)
    tracer.begin()
    tracer.end()


class FakeMonitoring:
    """The part of `sys.monitoring` that is used, for Pythons that have none."""

    class events:  # noqa: N801 - the name it has in Python
        EXCEPTION_HANDLED = 4

    def __init__(self, taken: set[int]) -> None:
        self.tools = dict.fromkeys(taken, "another")
        self.callbacks: dict[int, object] = {}
        self.watched: dict[int, int] = {}

    def get_tool(self, number):
        return self.tools.get(number)

    def use_tool_id(self, number, name):
        self.tools[number] = name

    def free_tool_id(self, number):
        del self.tools[number]

    def register_callback(self, number, event, callback):
        assert event == self.events.EXCEPTION_HANDLED
        self.callbacks[number] = callback

    def set_events(self, number, events):
        self.watched[number] = events


def test_monitor_takes_a_free_id_and_gives_it_back(monkeypatch):
    fake = FakeMonitoring(taken={4})
    monkeypatch.setattr(sys, "monitoring", fake, raising=False)
    seen = []
    monitor = Monitor(lambda error, _: seen.append(error))
    monitor.begin()
    (tool,) = (number for number, name in fake.tools.items() if name == "torchwhy")

    try:
        torch.zeros(2) @ torch.zeros(3)
    except RuntimeError as error:
        fake.callbacks[tool](sys._getframe().f_code, 0, error)
        fake.callbacks[tool](ast.parse.__code__, 0, error)
        raised = error
    monitor.end()

    assert seen == [raised]
    assert fake.tools == {4: "another"}
    assert fake.watched[tool] == 0


def test_monitor_without_a_free_id_sees_nothing(monkeypatch):
    fake = FakeMonitoring(taken={3, 4, 5})
    monkeypatch.setattr(sys, "monitoring", fake, raising=False)

    monitor = Monitor(lambda *_: None)
    monitor.begin()
    monitor.end()

    assert fake.callbacks == {}
