"""`pytest --torchwhy`: watches every test that can use torch; a test that trains into a NaN fails with the cause."""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import Any

import pytest

from torchwhy.integrations.block import TrainingBroke, WatchIfItTrains


class TorchwhyWarning(pytest.PytestWarning):
    """A finding in a test that passed."""


class _WatchedTest(WatchIfItTrains):
    def __init__(self, name: str) -> None:
        super().__init__(quiet=True)
        # Rewritten assertions would keep a trial from editing the test.
        self._command = ("pytest", "--assert=plain", name)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--torchwhy`."""
    group = parser.getgroup("torchwhy")
    group.addoption(
        "--torchwhy",
        action="store_true",
        help="explain tests that train into a NaN, die in torch, or do not learn",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Watch the test itself, without its fixtures."""
    __tracebackhide__ = True
    if not item.config.getoption("--torchwhy") or "torch" not in sys.modules:
        return (yield)
    why, result, failure = _WatchedTest(item.nodeid), None, ""
    try:
        with why:
            result = yield
    except TrainingBroke as broken:
        failure = f"{broken}\n\n{broken.report}"
    except Exception:
        if why.report is not None and why.report.root_cause is not None:
            item.add_report_section("call", "torchwhy", str(why.report))
        raise
    if failure:  # Not above, where pytest would show the exception, too.
        pytest.fail(failure, pytrace=False)
    root = None if why.report is None else why.report.root_cause
    if root is not None:
        where = "" if root.location is None else f"{root.location}: "
        item.warn(TorchwhyWarning(f"{where}{root.message} [{root.detector}]"))
    return result
