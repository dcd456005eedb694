"""The outcomes of the programs that tests ask for: each program is run once, by the first test that asks.

Several pytest workers share what one of them ran: a program has a lock and, once it was run, an entry in the cache.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.children import shared_zygote
from tests.support.run_program import Outcome, ProgramText, recorded_program, run_program
from tests.support.trace_cache import TraceCache, digest

# Tests of one program follow one another. The garbage collector would walk through the reports of all again and again.
MOST_KEPT = 50


class Outcomes(dict[str, Outcome]):
    """What the programs did, by their ids, worked out when a test asks for it.

    `shared` is a folder of this test session: which programs it has run. Unless `trusted`, an entry of the cache
    that an earlier session made is made anew.
    """

    def __init__(
        self, wanted: dict[str, ProgramText], cache: TraceCache, shared: Path, *, trusted: bool
    ) -> None:
        super().__init__()
        self._wanted = wanted
        self._cache = cache
        self._shared = shared
        self._trusted = trusted
        shared.mkdir(parents=True, exist_ok=True)

    def __missing__(self, name: str) -> Outcome:
        program = self._wanted[name]
        mark = self._shared / digest(part.encode() for pair in program.files for part in pair)
        with locked(mark.with_suffix(".lock")):
            known = self._trusted or mark.exists()
            outcome = (recorded_program(program, self._cache) if known else None) or self._run(
                program, mark
            )
        while len(self) >= MOST_KEPT:
            del self[next(iter(self))]
        self[name] = outcome
        return outcome

    def _run(self, program: ProgramText, mark: Path) -> Outcome:
        folder = mark.with_suffix(".run")
        shutil.rmtree(folder, ignore_errors=True)  # of an attempt that raised
        folder.mkdir()
        outcome = run_program(program, zygote=shared_zygote(), folder=folder)
        self._cache.keep(program.files, folder, outcome.ended)
        mark.touch()
        return outcome


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes out of the block."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
