"""The import table: data flows left to right through the stages, and so do the imports."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src"
SHARED = {
    "plain_data",
    "diagnosis",
    "finding",
    "question",
    "errors",
    "printable",
    "source",
    "record",
}
# What the shared ones may import besides themselves.
SHARED_TABLE = {
    "plain_data": set(),
    "diagnosis": {"finding"},
    "finding": {"diagnosis", "errors", "plain_data"},
    "question": {"diagnosis", "plain_data"},
    "printable": set(),
    "errors": {"printable"},
    "source": {"finding", "errors", "plain_data"},
    "record": {"finding", "errors", "printable", "source", "plain_data"},
}
# What a stage may import besides itself and the shared ones.
TABLE = {
    "observe": set(),
    "confine": {"observe.launch", "observe.ending_signals"},
    "replay": {"observe", "confine"},
    "detect": set(),
    "explain": {"detect"},
    "verify": {"detect", "explain", "confine"},
    "report": set(),
    "rehearse": {"detect", "confine"},
    "follow": {"detect", "report", "observe.launch"},
    "reproduce": {"confine"},
    "pipeline": {"detect", "explain", "report"},
    "commands": {"*"},
    "integrations": {"*"},
    "__init__": {"*"},
    "__main__": {"*"},
}
NOBODY_IMPORTS = {"commands", "integrations"}
WITHOUT_TORCH = (
    "source",
    "record",
    "confine",
    "detect",
    "explain",
    "verify",
    "rehearse",
    "reproduce",
    "report",
    "follow",
    "pipeline",
    "commands",
)
MODULES = sorted((SOURCE / "torchwhy").rglob("*.py"))


@cache
def _imports(path: Path) -> tuple[str, ...]:
    """Return every module that a file imports anywhere, also inside functions."""
    return tuple(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written in full"
            module = node.module or ""
            yield from (f"{module}.{alias.name}" for alias in node.names)


def _stage(path: Path) -> str:
    return path.relative_to(SOURCE / "torchwhy").with_suffix("").parts[0]


def _name(path: Path) -> str:
    return str(path.relative_to(SOURCE))


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_imports_follow_the_table(path):
    stage = _stage(path)
    if "boot" in path.parts:  # wires the stages together inside the user's process
        return
    shared = SHARED_TABLE.get(stage)
    allowed = {stage} | (TABLE[stage] | SHARED if shared is None else shared)

    wrong = [
        name
        for name in _imports(path)
        if name.startswith("torchwhy.") and not _is_allowed(name, allowed)
    ]

    assert wrong == []


def _is_allowed(name: str, allowed: set[str]) -> bool:
    inner = name.removeprefix("torchwhy.")
    return (
        "*" in allowed
        or inner == "__version__"
        or any(inner == stage or inner.startswith(f"{stage}.") for stage in allowed)
    )


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_nobody_imports_the_outermost_layers(path):
    if _stage(path) in {"commands", "integrations", "__init__", "__main__"}:
        return

    assert [
        name for name in _imports(path) if name.split(".")[1:2] in [[n] for n in NOBODY_IMPORTS]
    ] == []


def test_the_thinking_stages_and_the_supervisor_run_where_torch_is_not():
    modules = [
        ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        for path in MODULES
        if _stage(path) in WITHOUT_TORCH
    ]
    modules += [
        "torchwhy.observe.launch",
        "torchwhy.replay.step.rerun_parent",
        "torchwhy.observe.boot.arm",
    ]
    code = "\n".join(
        [
            "import sys, importlib",
            "sys.modules['torch'] = None",
            *(f"importlib.import_module({name!r})" for name in modules),
            "from torchwhy.detect.registry import all_detectors; all_detectors()",
            "import torchwhy; torchwhy.load, torchwhy.Report, torchwhy.Finding",
        ]
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.stderr == ""
    assert done.returncode == 0
    assert len(modules) > 20
