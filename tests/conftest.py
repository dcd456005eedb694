"""What all tests share: the programs that the selected tests ask for, run once in one batch."""

from __future__ import annotations

import signal

import pytest

from tests.support.run_program import Outcome, ProgramText, run_programs


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
    return run_programs(list(wanted.values()), tmp_path_factory.mktemp("programs"))


# Started in the background of a shell, tests would hand on that Ctrl-C is ignored, and some of them send one.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
