"""What other tools say about the programs of our tests in which a NaN or Inf is born.

    python -m benchmarks.rivals [--most 40] [PROGRAM …]

Each program runs once with `torch.autograd.detect_anomaly` on and, where Transformers is installed, once with its
`DebugUnderflowOverflow` on the first model that is called. A tool *names the line* if the traceback it prints ends at
the marked line, or if the module it names has the marked line in its `forward`; it *speaks* if it raises or warns of a
bad value anywhere else. torchwhy takes no part: these programs are its own tests, so it names all of them. Prints a
Markdown table.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import multiprocessing
import os
import re
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

import torch
from tests.support.run_program import MARK, PROGRAMS, SCRIPT
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook

ROOT = Path(__file__).resolve().parents[1]
CAUSES = ROOT / "src" / "torchwhy" / "detect" / "causes" / "numerics"
SECONDS = 60.0
NAMES, SPEAKS, SILENT = "names the line", "speaks", "silent"
OWN_FRAME = re.compile(rf'File "[^"]*{SCRIPT}", line (\d+)')


def programs() -> list[Path]:
    """Return the broken programs of one file whose cause is in the family of numerics."""
    causes = sorted(page.stem.replace("_", "-") for page in CAUSES.glob("*.md"))
    return [path for cause in causes for path in sorted((PROGRAMS / cause / "broken").glob("*.py"))]


def marked_line(text: str) -> int:
    """Return the line that a program marks as guilty."""
    return next(number for number, line in enumerate(text.splitlines(), 1) if MARK.search(line))


def run(text: str) -> BaseException | None:
    """Run a program as a script; return the exception that ended it."""
    namespace: dict[str, Any] = {"__name__": "__main__", "__file__": SCRIPT}
    sys.argv = [SCRIPT]
    try:
        exec(compile(text, SCRIPT, "exec"), namespace)  # noqa: S102 - a program of our tests
    except (Exception, SystemExit) as error:
        return error
    return None


def with_anomaly_mode(text: str, line: int) -> str:
    """Judge what anomaly mode says."""
    with warnings.catch_warnings(record=True) as told, torch.autograd.set_detect_anomaly(mode=True):
        warnings.simplefilter("always")
        error = run(text)
    shown = "".join(str(one.message) for one in told if "forward call" in str(one.message))
    if not isinstance(error, RuntimeError) or "returned nan values" not in str(error):
        return SILENT
    frames = OWN_FRAME.findall(shown)
    return NAMES if frames and int(frames[-1]) == line else SPEAKS


def with_underflow_overflow(text: str, line: int) -> str:
    """Judge what Transformers' watcher of modules says; it watches the first module that is called."""
    from transformers.debug_utils import DebugUnderflowOverflow

    watched: list[tuple[nn.Module, Any]] = []

    def attach(module: nn.Module, _inputs: object) -> None:
        if not watched:
            watched.append((module, DebugUnderflowOverflow(module)))

    handle = register_module_forward_pre_hook(attach)
    try:
        error = run(text)
    finally:
        handle.remove()
    if not isinstance(error, ValueError) or "DebugUnderflowOverflow" not in str(error):
        return SILENT
    model, debug = watched[0]
    shown = "\n".join(debug.frames)
    named = [module for path, module in model.named_modules() if path and f" {path} " in shown]
    return NAMES if any(_holds(module, line) for module in (named[-1:] or [model])) else SPEAKS


def _holds(module: nn.Module, line: int) -> bool:
    code = getattr(type(module).forward, "__code__", None)
    if code is None or code.co_filename != SCRIPT:
        return False
    lines = [number for _, _, number in code.co_lines() if number is not None]
    return bool(lines) and min(lines) <= line <= max(lines)


def _child(judge: Callable[[str, int], str], path: Path, answers: Queue[str]) -> None:
    text = path.read_text()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path(SCRIPT).write_text(text)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                answer = judge(text, marked_line(text))
            except Exception:
                answer = traceback.format_exc(limit=2)
    answers.put(answer)


def judged(judge: Callable[[str, int], str], path: Path) -> str:
    """Return a tool's answer to a program that runs in a child of this process."""
    context = multiprocessing.get_context("fork")
    answers: Queue[str] = context.Queue()
    child = context.Process(target=_child, args=(judge, path, answers))
    child.start()
    child.join(SECONDS)
    if child.is_alive():
        child.kill()
    return answers.get(timeout=1.0) if not answers.empty() or child.exitcode == 0 else SILENT


def main() -> None:
    """Run every program with every tool and print how often each names the line."""
    parser = argparse.ArgumentParser(description=inspect.getdoc(sys.modules[__name__]))
    parser.add_argument("programs", nargs="*", type=Path)
    parser.add_argument("--most", type=int, default=None)
    options = parser.parse_args()
    tools = {"detect_anomaly": with_anomaly_mode}
    if find_spec("transformers"):
        tools["DebugUnderflowOverflow"] = with_underflow_overflow
    torch.set_num_threads(1)
    taken = (options.programs or programs())[: options.most]
    counts = {tool: Counter[str]() for tool in tools}
    for path in taken:
        answers = {tool: judged(judge, path) for tool, judge in tools.items()}
        for tool, answer in answers.items():
            counts[tool][answer] += 1
        print(path.parent.parent.name, path.stem, answers, file=sys.stderr, flush=True)
    print(f"| of {len(taken)} programs | {NAMES} | {SPEAKS} | {SILENT} |\n|---|---|---|---|")
    for tool, count in counts.items():
        print(f"| {tool} | {count[NAMES]} | {count[SPEAKS]} | {count[SILENT]} |")


if __name__ == "__main__":
    main()
