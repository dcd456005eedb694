"""Edited copies of source files, which a trial loads instead of the files; the files themselves stay untouched."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

OVERLAY_FILE = "overlay.json"  # boot/overlay.py reads it in every Python process of the trial.


def lay(run_directory: Path, texts: Mapping[Path, str]) -> None:
    """Write edited copies into a trial's run directory, from which the boot loads them under the original names."""
    folder = run_directory / "overlay"
    folder.mkdir(parents=True, exist_ok=True)
    copies = {}
    for number, (path, text) in enumerate(texts.items()):
        copy = folder / f"{number}-{path.name}"
        with copy.open("w", encoding="utf8", newline="") as file:
            file.write(text)
        copies[str(path.absolute())] = str(copy.absolute())
    (run_directory / OVERLAY_FILE).write_text(json.dumps(copies, indent=1) + "\n", encoding="utf8")
