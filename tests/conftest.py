"""What all tests share: the programs that the selected tests ask for, each run once."""

from __future__ import annotations

import gc
import signal
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support.by_program import PROGRAM, ByProgram, told
from tests.support.outcomes import Outcomes
from tests.support.run_program import ProgramText
from tests.support.trace_cache import TraceCache, default_folder

collect_ignore = ["programs"]  # what is called test_… there is a user's program


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what these tests can be asked for besides."""
    group = parser.getgroup("torchwhy")
    group.addoption(
        "--update", action="store_true", help="write the reports beside the programs anew"
    )
    group.addoption(
        "--cached",
        action="store_true",
        help="read the traces of earlier runs, and run only what has none",
    )
    group.addoption("--kinds", action="store_true", help="tell at the end which tests ran, by kind")
    group.addoption(
        "--traces",
        type=Path,
        metavar="FOLDER",
        help="read the traces in this folder, whatever code recorded them (a folder of .cache/traces)",
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the tests of a program together, under `--dist loadscope`."""
    if config.getoption("dist") != "loadscope":
        return None
    return ByProgram(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the programs last: they are many and short, so that all workers end at the same time."""
    items.sort(key=lambda item: PROGRAM.search(item.nodeid) is not None)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Keep the garbage collector from what is collected: it lives to the end, and walking through it takes seconds."""
    gc.disable()
    result = yield
    gc.collect()
    gc.freeze()
    gc.enable()
    return result


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Tell what kinds of tests ran."""
    if not config.getoption("--kinds"):
        return
    reports = [
        report
        for outcome in ("", "passed", "failed", "error")
        for report in terminalreporter.stats.get(outcome, [])
    ]
    terminalreporter.section("what ran")
    for line in told(reports):
        terminalreporter.line(line)


@pytest.fixture(scope="session")
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """Run the program of a test when the test asks for it; workers of one session share what they ran."""
    wanted: dict[str, ProgramText] = {}
    for item in request.session.items:
        program = getattr(item, "callspec", None) and item.callspec.params.get("program")
        if isinstance(program, ProgramText):
            assert wanted.setdefault(program.id, program) is program, (
                f"two programs are called {program.id}"
            )
    traces = request.config.getoption("--traces")
    base = tmp_path_factory.getbasetemp()
    session = base.parent if hasattr(request.config, "workerinput") else base
    return Outcomes(
        wanted,
        TraceCache(traces or default_folder()),
        session / "programs",
        trusted=bool(traces) or request.config.getoption("--cached"),
    )


# Started in the background of a shell, or by nohup, tests would hand on that these signals are ignored, and send them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
