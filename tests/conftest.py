"""What all tests share: the programs that the selected tests ask for, run once in one batch."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.support.run_program import Outcome, ProgramText, recorded_program, run_programs
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
    group.addoption(
        "--traces",
        type=Path,
        metavar="FOLDER",
        help="read the traces in this folder, whatever code recorded them (a folder of .cache/traces)",
    )


@pytest.fixture(scope="session")
def outcomes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Outcome]:
    """Run the programs of all selected tests, two at a time, before the first of these tests looks at its own."""
    wanted: dict[str, ProgramText] = {}
    for item in request.session.items:
        program = getattr(item, "callspec", None) and item.callspec.params.get("program")
        if isinstance(program, ProgramText):
            assert wanted.setdefault(program.id, program) is program, (
                f"two programs are called {program.id}"
            )
    traces = request.config.getoption("--traces")
    cache = TraceCache(traces or default_folder())
    reads_cache = bool(traces) or request.config.getoption("--cached")
    known = Recorded(wanted, cache) if reads_cache else Recorded({}, cache)
    missing = [program for program in wanted.values() if program.id not in known.programs]
    if missing:
        known.update(run_programs(missing, tmp_path_factory.mktemp("programs"), cache))
    return known


class Recorded(dict[str, Outcome]):
    """The outcomes of programs, of recorded ones worked out when a test asks for them."""

    def __init__(self, wanted: dict[str, ProgramText], cache: TraceCache) -> None:
        super().__init__()
        self._cache = cache
        self.programs = {
            name: program
            for name, program in wanted.items()
            if cache.find(program.files) is not None
        }

    def __missing__(self, name: str) -> Outcome:
        outcome = recorded_program(self.programs[name], self._cache)
        assert outcome is not None
        self[name] = outcome
        return outcome


# Started in the background of a shell, tests would hand on that Ctrl-C is ignored, and some of them send one.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
