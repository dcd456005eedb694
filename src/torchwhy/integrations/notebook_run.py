"""`torchwhy run notebook.ipynb`: runs the cells in a kernel of their own, each watched, up to the first that fails."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from torchwhy.errors import UsageError
from torchwhy.integrations.cell_magics import MARK

EXTRA = "torchwhy[notebook]"
MAGICS = "%load_ext torchwhy\n%torchwhy on"
WAYS = {"stop": "", "skip": " --skip", "continue": " --continue"}  # of `--on-failure`
KERNEL = "python3"  # ipykernel's name for the interpreter that it is installed in, which is ours
QUIET = ["--log-level=ERROR"]  # the kernel's own messages
BROKEN_CODE = 1
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def run_notebook(path: Path, *, on_failure: str = "stop") -> int:
    """Run all cells and print what they print; return 1 if one of them failed."""
    notebook = _read(path)
    client_kind, failed = _client()
    here = {"metadata": {"path": str(Path.cwd())}}
    client = client_kind(
        notebook, timeout=None, kernel_name=KERNEL, extra_arguments=QUIET, resources=here
    )
    client.on_cell_executed = lambda cell, cell_index, execute_reply: _show(cell)  # noqa: ARG005 - nbclient's names
    with client.setup_kernel():
        client.kc.execute(MAGICS + WAYS[on_failure], silent=True)
        try:
            for index, cell in enumerate(notebook.cells):
                client.execute_cell(cell, index)
        except failed:
            return BROKEN_CODE
    return 0


def _read(path: Path) -> Any:
    try:
        formats: Any = import_module("nbformat")
    except ImportError:
        raise _missing() from None
    if not path.is_file():
        raise UsageError(f"the notebook {path} does not exist.", slug="no-such-script")
    try:
        notebook = formats.read(path, as_version=4)
        formats.validate(notebook)
    except Exception as problem:
        reason = str(problem).splitlines()[:1] or [type(problem).__name__]
        raise UsageError(f"{path} is not a notebook: {reason[0]}.", slug="not-a-notebook") from None
    return notebook


def _client() -> tuple[Any, type[Exception]]:
    try:
        import ipykernel  # noqa: F401 - the kernel needs it
        from nbclient import NotebookClient
        from nbclient.exceptions import CellExecutionError
    except ImportError:
        raise _missing() from None
    return NotebookClient, CellExecutionError


def _missing() -> UsageError:
    return UsageError(
        f"a notebook needs nbclient and ipykernel: `pip install '{EXTRA}'`.", slug="missing-extra"
    )


def _show(cell: Any) -> None:
    """Print the outputs of a cell as text: reports and tracebacks to stderr, the rest where the cell prints it."""
    for output in cell.get("outputs", ()):
        is_ours = MARK in output.get("metadata", {})
        to_stderr = is_ours or output.get("name") == "stderr" or "traceback" in output
        stream = sys.stderr if to_stderr else sys.stdout
        text = output.get("text") or output.get("data", {}).get("text/plain", "")
        text = text or "\n".join(output.get("traceback", ()))
        if not stream.isatty():
            text = COLOURS.sub("", text)
        stream.write(text if text.endswith("\n") or not text else f"{text}\n")
        stream.flush()
