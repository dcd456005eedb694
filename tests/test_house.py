"""A house one can find one's way in: small folders, and file names that mean one thing each."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "torchwhy"
MOST_FILES = 15
NOT_SOURCE = {".so", ".pyd", ".pyc", ".o"}

# Folders that may hold more: one file per cause.
LARGE_BY_DESIGN = {
    "detect/causes/dynamics",
    "detect/causes/errors",
    "detect/causes/numerics",
    "detect/causes/wiring",
}
# Folders still to be split. The one who splits a folder removes it here.
STILL_LARGE: set[str] = set()
# File names with two meanings, still to be changed. The one who renames a file removes its name here.
STILL_AMBIGUOUS: set[str] = set()

FOLDERS = sorted(path for path in SOURCE.rglob("*") if path.is_dir() and path.name != "__pycache__")


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_file() and path.suffix not in NOT_SOURCE]


def _name(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


@pytest.mark.parametrize("folder", FOLDERS, ids=_name)
def test_a_folder_holds_few_files(folder):
    if _name(folder) in LARGE_BY_DESIGN:
        return
    is_large = len(_files(folder)) > MOST_FILES

    assert is_large == (_name(folder) in STILL_LARGE)


def test_a_module_name_has_one_meaning():
    stems = Counter(path.stem for path in SOURCE.rglob("*.py") if path.stem != "__init__")

    assert {stem for stem, count in stems.items() if count > 1} == STILL_AMBIGUOUS
