"""The report of every program is pinned beside it: `pytest --update` writes the files, the diff of a commit shows."""

from __future__ import annotations

import pytest

from tests.support.run_program import Outcome, ProgramText, guest_programs
from tests.support.snapshots import CHAOTIC, VARIANTS, differences, pinned_file, render, variant_of
from tests.test_programs import BROKEN, HEALTHY, MANUAL

# How many steps are watched depends on which of two threads steps first.
RACES = {"whole_programs/healthy/training_in_a_thread"}
ALL = [*MANUAL, *BROKEN, *HEALTHY, *guest_programs()]
PINNED = [program for program in ALL if program.id not in RACES]


@pytest.mark.parametrize("program", PINNED, ids=lambda program: program.id)
def test_report_is_the_pinned_one(
    program: ProgramText, outcomes: dict[str, Outcome], request: pytest.FixtureRequest
) -> None:
    assert program.snapshot is not None
    file = pinned_file(program.snapshot)
    new = render(outcomes[program.id])
    pinned = file.read_text() if file.exists() else ""
    changes = differences(pinned, new, chaotic=program.id in CHAOTIC)

    if changes and request.config.getoption("--update"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(new)
    else:
        assert not changes, "\n".join(changes)


def test_every_snapshot_has_its_program() -> None:
    folders = {program.snapshot.parent for program in PINNED if program.snapshot is not None}

    known = {program.snapshot for program in ALL if program.snapshot is not None}
    known |= {variant_of(path, name) for path in known for name in VARIANTS}
    orphans = {path for folder in folders for path in folder.glob("*.report*.txt")} - known

    assert orphans == set()


def test_a_variant_takes_the_place_of_the_common_file_where_it_is_given(tmp_path, monkeypatch):
    common, variant = tmp_path / "a.report.txt", tmp_path / "a.report.monitored.txt"
    variant.write_text("seen from the first one on")

    monkeypatch.setitem(VARIANTS, "monitored", True)
    given = pinned_file(common), pinned_file(tmp_path / "b.report.txt")
    monkeypatch.setitem(VARIANTS, "monitored", False)

    assert given == (variant, tmp_path / "b.report.txt")
    assert pinned_file(common) == common


@pytest.mark.parametrize(
    ("pinned", "new"),
    [
        ("loss 0.4382 → 0.1077", "loss 0.4383 → 0.11"),
        ("the norm was 412 (limit 1e+04)", "the norm was 412 (limit 9.8e+03)"),
        ("without ▆▇▇█▅▅ 0.4", "without ▆▇▇ 0.4"),
        ("grew 250×, 198 MB, 97 % of it", "grew 163×, 195 MB, 96 % of it"),
        ("float32[16], 7 +inf, 9 -inf, first at [0]", "float32[16], 9 +inf, 7 -inf, first at [3]"),
        ("a long line of words\n  that wraps", "a long line of\n  words that wraps"),
        ("the torch installed here (2.13.0+cpu) is", "the torch installed here (2.14.1+cu130) is"),
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


@pytest.mark.parametrize(
    ("new", "is_same"),
    [
        ("error[loss-spike]: it rose to 378\n --> train.py:7 in f · step 43\n+    lr=0.02", True),
        ("error[loss-spike]: it rose to 368\n --> train.py:8 in f · step 44\n+    lr=0.01", False),
        ("error[dead-units]: it rose to 368\n --> train.py:7 in f · step 44\n+    lr=0.01", False),
    ],
)
def test_a_chaotic_program_pins_causes_and_places(new, is_same):
    pinned = "error[loss-spike]: it rose to 368\n --> train.py:7 in f · step 44\n+    lr=0.01"

    assert (differences(pinned, new, chaotic=True) == []) is is_same
