"""The report of every program is pinned beside it: `pytest --update` writes the files, the diff of a commit shows."""

from __future__ import annotations

import pytest

from tests.support.run_program import Outcome, ProgramText, guest_programs
from tests.support.snapshots import differences, render
from tests.test_programs import BROKEN, HEALTHY, MANUAL

# How many steps are watched depends on which of two threads steps first. A model that gets the address of a freed one
# continues its count of forwards, so that the numbers of `lets_go` depend on addresses.
RACES = {"whole_programs/healthy/training_in_a_thread", "guest/lets_go"}
PINNED = [
    program
    for program in (*MANUAL, *BROKEN, *HEALTHY, *guest_programs())
    if program.id not in RACES
]


@pytest.mark.parametrize("program", PINNED, ids=lambda program: program.id)
def test_report_is_the_pinned_one(
    program: ProgramText, outcomes: dict[str, Outcome], request: pytest.FixtureRequest
) -> None:
    assert program.snapshot is not None
    new = render(outcomes[program.id])
    pinned = program.snapshot.read_text() if program.snapshot.exists() else ""
    changes = differences(pinned, new)

    if changes and request.config.getoption("--update"):
        program.snapshot.parent.mkdir(parents=True, exist_ok=True)
        program.snapshot.write_text(new)
    else:
        assert not changes, "\n".join(changes)


def test_every_snapshot_has_its_program() -> None:
    folders = {program.snapshot.parent for program in PINNED if program.snapshot is not None}

    orphans = {path for folder in folders for path in folder.glob("*.report.txt")} - {
        program.snapshot for program in PINNED
    }

    assert orphans == set()


@pytest.mark.parametrize(
    ("pinned", "new"),
    [
        ("loss 0.4382 → 0.1077", "loss 0.4383 → 0.11"),
        ("the norm was 412 (limit 1e+04)", "the norm was 412 (limit 9.8e+03)"),
        ("without ▆▇▇█▅▅ 0.4", "without ▆▇▇ 0.4"),
        ("grew 250×, 198 MB, 97 % of it", "grew 163×, 195 MB, 96 % of it"),
        ("a long line of words\n  that wraps", "a long line of\n  words that wraps"),
    ],
)
def test_numbers_that_differ_between_machines_are_no_difference(pinned: str, new: str) -> None:
    assert differences(pinned, new) == []


@pytest.mark.parametrize(
    ("pinned", "new"),
    [
        ("loss 0.4382 → 0.1077", "loss 0.4382 → nan"),
        ("train.py:12 in forward", "train.py:13 in forward"),
        ("warning[dead-units]: x", "error[dead-units]: x"),
        ("[16, 784] against [16, 785]", "[16, 784] against [16, 784]"),
        ("x: float32 64×1568", "x: float32 32×1568"),
    ],
)
def test_other_words_and_whole_numbers_are_a_difference(pinned: str, new: str) -> None:
    assert differences(pinned, new) != []
