"""Which `except` takes an exception, what it costs, and that the watch leaves nothing behind."""

from __future__ import annotations

import ast
import sys
from types import TracebackType

import pytest
import torch

from torchwhy.observe import frames
from torchwhy.replay.handled import Tracer
from torchwhy.replay.swallowed import comes_out_of_a_step, costs_step, handler_of


@pytest.fixture(autouse=True)
def torch_is_known():
    frames.remember_torch(torch.__file__)


def trace_to_here(error: BaseException) -> TracebackType:
    assert error.__traceback__ is not None
    return error.__traceback__


def test_matching_clause_is_found_behind_others():
    try:
        torch.zeros(2) @ torch.zeros(3)
    except KeyError:
        pass
    except (ValueError, RuntimeError) as error:
        trace = trace_to_here(error)
        found = handler_of(trace.tb_frame, trace.tb_lineno, error)

    assert found is not None
    assert isinstance(found[1].type, ast.Tuple)


def test_clause_for_other_exceptions_takes_nothing():
    caught = None
    try:
        try:
            torch.zeros(2) @ torch.zeros(3)
        except KeyError:
            pass
        finally:
            caught = None
    except RuntimeError as error:
        caught = error
        found = handler_of(error.__traceback__.tb_frame, error.__traceback__.tb_lineno, error)

    assert caught is not None
    assert found is not None
    assert ast.unparse(found[1].type) == "RuntimeError"


def clause(text: str) -> tuple[ast.Try, ast.ExceptHandler]:
    (node,) = (part for part in ast.walk(ast.parse(text)) if isinstance(part, ast.Try))
    return node, node.handlers[0]


@pytest.mark.parametrize(
    ("text", "costs"),
    [
        ("for x in y:\n try:\n  z = f(x)\n except RuntimeError:\n  continue", True),
        ("try:\n loss.backward()\n optimizer.step()\nexcept RuntimeError as e:\n print(e)", True),
        ("def g():\n try:\n  z = f(x)\n except RuntimeError:\n  return None", True),
        ("try:\n z = x.view(-1)\nexcept RuntimeError:\n z = x.reshape(-1)", False),
        ("def g():\n try:\n  return x.view(-1)\n except RuntimeError:\n  return x.reshape(-1)", False),
        ("try:\n loss.backward()\nexcept RuntimeError as e:\n raise ValueError('bad') from e", False),
    ],
)
def test_cost_is_read_off_the_source(text, costs):
    assert costs_step(*clause(text)) is costs


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
        raise ValueError("bad config")
    except ValueError as error:
        return trace_to_here(error)


def test_only_errors_of_operations_count():
    assert comes_out_of_a_step(step_error())
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
    try:
        torch.zeros(2) @ torch.zeros(3)
    except RuntimeError:
        pass
    monkeypatch.undo()

    tracer.end()

    assert seen == [RuntimeError]
    assert frame.f_trace is None
    assert sys.gettrace() is None
    sys.settrace(before)


def test_tracer_gives_way_to_a_trace_function_of_the_program(monkeypatch):
    theirs = object()
    monkeypatch.setattr("sys.gettrace", lambda: theirs)
    monkeypatch.setattr("sys.settrace", lambda _: pytest.fail("the program's own trace function was replaced"))

    tracer = Tracer(lambda *_: None)
    tracer.begin()
    tracer.end()
