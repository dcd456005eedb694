"""How tests are shared among workers, and what a session tells of them at its end.

All tests of one program go to one worker, which runs and diagnoses it once; all other tests of a file stay together, so
that what a module prepares is prepared once.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import pytest
from xdist.scheduler import LoadScopeScheduling

PROGRAM = re.compile(
    r"\[(?P<id>[\w-]+/(?:broken|healthy)/[^\]]+|guest/[^\]]+|[\w-]+-(?:broken|repaired|lookalike)-\d+)\]$"
)
PROGRAMS = "programs and their reports"
# The first that fits counts.
KINDS = (
    (PROGRAMS, PROGRAM.search),
    ("training with and without torchwhy", re.compile(r"^tests/(guest|devices)/").search),
    ("generated programs, damaged runs", re.compile(r"^tests/fuzz/").search),
    (
        "rules of the source",
        re.compile(r"^tests/test_(house|layers|sizes|private_names|prose|packaging)").search,
    ),
    ("pages in a browser, notebooks", re.compile(r"browser|notebooks|docs_site").search),
    (
        "commands and whole runs",
        re.compile(
            r"^tests/(commands|confine|follow|integrations|rehears\w*|reproduce|test_)"
        ).search,
    ),
    ("single parts", re.compile("").search),
)


class ByProgram(LoadScopeScheduling):
    """Gives a worker all tests of a program, or all others of a file, at once."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)


def scope_of(nodeid: str) -> str:
    """Return what a test shares a worker with: its program, or its file."""
    found = PROGRAM.search(nodeid)
    return found["id"] if found is not None else nodeid.partition("::")[0]


def kind_of(nodeid: str) -> str:
    """Return the kind of a test, in words."""
    return next(kind for kind, fits in KINDS if fits(nodeid))


def told(reports: Iterable[pytest.TestReport]) -> Iterator[str]:
    """Yield a line for each kind: how many tests ran, of how many programs, and the seconds of all workers."""
    tests: dict[str, set[str]] = defaultdict(set)
    seconds: Counter[str] = Counter()
    for report in reports:
        kind = kind_of(report.nodeid)
        if report.when == "call":
            tests[kind].add(report.nodeid)
        seconds[kind] += report.duration
    for kind, _ in KINDS:
        if kind in tests:
            count = len({scope_of(test) for test in tests[kind]})
            of = f" of {count} programs" if kind == PROGRAMS else ""
            yield f"{len(tests[kind]):6} tests{of} in {seconds[kind]:5.0f} s: {kind}"
