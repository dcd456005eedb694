"""A house one can find one's way in: small folders, file names with one meaning, and one place for the wiring."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "torchwhy"
MOST_FILES = 15
NOT_SOURCE = {".so", ".pyd", ".pyc", ".o"}

# Folders that may hold more: one file per cause.
LARGE_BY_DESIGN = {
    "detect/causes/data",
    "detect/causes/dynamics",
    "detect/causes/errors",
    "detect/causes/numerics",
    "detect/causes/wiring",
}
# Objects that know all parts of a watched process, and the files that build them or put them on torch.
WHOLES = {
    "torchwhy.observe.parts.Parts",
    "torchwhy.observe.session.Session",
    "torchwhy.replay.equipment.Equipment",
}
WIRING = {
    "observe/boot/wire.py",
    "observe/native/native_descriptors.py",
    "observe/parts.py",
    "observe/probe_wiring.py",
    "observe/session.py",
    "replay/assembly.py",
    "replay/close_assembly.py",
    "replay/equipment.py",
    "replay/rehearsal_assembly.py",
}

# Files of a watched process that read a clock, and why no answer depends on it. Bound everything else by counts.
CLOCKS = {
    "observe/boot/arm.py": "when the program began",
    "observe/boot/wire.py": "what start-up takes",
    "observe/guest.py": "what probes take",
    "observe/launch.py": "the supervisor: how long a run takes, and limits that the user sets",
    "observe/native/native_descriptors.py": "hands the clock of steps to the accelerator",
    "observe/session.py": "when the run began, and what its end takes",
    "observe/steps/budget.py": "CPU time, in doublings: the budget is a share of the time",
    "observe/steps/cruise.py": "how long steps take, and what we add",
    "observe/steps/step_events.py": "how long steps take",
    "observe/steps/training_state.py": "how long steps take",
    "replay/experiments/curvature.py": "CPU time of one gradient: three products at most, not twelve, if it is long",
    "replay/experiments/sample_independence.py": "what the experiment took",
    "replay/microscope/dispatch_mode.py": "what looking takes",
    "replay/rehearsal/allowance.py": "the time for questions that the user sets: one that takes longer is refused",
    "replay/rehearsal/rehearsal.py": "what a question took",
}
CLOCK_NAMES = {
    "perf_counter",
    "monotonic",
    "thread_time",
    "process_time",
    "time_ns",
    "monotonic_ns",
}

FOLDERS = sorted(path for path in SOURCE.rglob("*") if path.is_dir() and path.name != "__pycache__")


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_file() and path.suffix not in NOT_SOURCE]


def _name(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


@pytest.mark.parametrize(
    "folder", [one for one in FOLDERS if _name(one) not in LARGE_BY_DESIGN], ids=_name
)
def test_a_folder_holds_few_files(folder):
    assert len(_files(folder)) <= MOST_FILES


def test_a_module_name_has_one_meaning():
    stems = Counter(path.stem for path in SOURCE.rglob("*.py") if path.stem != "__init__")

    assert [stem for stem, count in stems.items() if count > 1] == []


def test_only_the_wiring_sees_all_parts_of_a_process():
    seeing = {
        _name(path)
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf8")))
        if isinstance(node, ast.ImportFrom)
        and any(f"{node.module}.{alias.name}" in WHOLES for alias in node.names)
    }

    assert seeing
    assert seeing <= WIRING


def test_no_answer_depends_on_a_clock():
    reading = set()
    for stage in ("observe", "replay"):
        for path in (SOURCE / stage).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf8"))
            names = {
                alias.name
                for node in ast.walk(tree)
                if isinstance(node, ast.ImportFrom) and node.module == "time"
                for alias in node.names
            }
            names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
            if names & CLOCK_NAMES:
                reading.add(_name(path))

    assert reading - set(CLOCKS) == set()
    assert set(CLOCKS) - reading == set(), "no longer reads a clock"
