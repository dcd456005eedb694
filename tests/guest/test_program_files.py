"""The trace holds the text of the program's own files, as they ran."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tests.guest.pairs import PROGRAMS, Left, Pairs
from torchwhy.record.events import ProgramFile


def files_of(left: Left) -> dict[str, ProgramFile]:
    return {Path(e.file).name: e for e in left.events if isinstance(e, ProgramFile)}


def test_killed_program_leaves_its_text_with_the_hash_of_the_file(pairs: Pairs) -> None:
    left = pairs.run("dying/out_of_memory", watched=True)

    script = PROGRAMS / "dying" / "out_of_memory.py"
    stored = files_of(left)["out_of_memory.py"]
    assert stored.text == script.read_text()
    assert stored.sha256 == hashlib.sha256(script.read_bytes()).hexdigest()


def test_program_that_dies_in_its_first_forward_leaves_its_text(pairs: Pairs) -> None:
    left = pairs.run("dying/first_forward", watched=True)

    assert list(files_of(left)) == ["first_forward.py"]


def test_file_edited_meanwhile_is_stored_as_it_ran_and_a_late_import_is_stored(
    pairs: Pairs,
) -> None:
    left = pairs.run("edited_meanwhile", watched=True)

    stored = files_of(left)
    assert list(stored) == ["edited_meanwhile.py", "helper_of_training.py", "imported_late.py"]
    assert stored["helper_of_training.py"].text == "RATE = 0.1\n"
