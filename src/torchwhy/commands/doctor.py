"""Tell what works in this environment: Python, torch, and whether a program can be watched."""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from pathlib import Path

OLDEST_TORCH = (2, 4)
CHILD_SECONDS = 120.0  # the first import of torch from a cold disk takes long
PROBE = """
import json, sys
try:
    import torch
except ImportError:
    pass
print(json.dumps({"armed": "torchwhy.observe.boot.arm" in sys.modules,
                  "torch": "torch" in sys.modules,
                  "watching": "torchwhy.observe.boot.wire" in sys.modules}))
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command: there are none."""


def execute(_options: argparse.Namespace) -> int:
    """Print one line per thing that was looked at; exit with 1 if something does not work."""
    checks = [check_python(), check_torch(), check_boot(), check_accelerator(), *last_run()]
    for works, line in checks:
        print(f"{'ok     ' if works else 'problem'}  {line}")
    return 0 if all(works for works, _ in checks) else 1


def last_run() -> list[tuple[bool, str]]:
    """Return what watching cost in the newest run of this directory; nothing where there is none to tell of."""
    from torchwhy.commands.report import find_run
    from torchwhy.errors import TorchwhyError
    from torchwhy.record.events import Thinned
    from torchwhy.record.run_file import read_traces
    from torchwhy.report.model import read_report

    try:
        directory = find_run(None)
        report = read_report(directory / "report.json")
        thinned = [event for trace in read_traces(directory) for event in trace.of(Thinned)]
    except (TorchwhyError, OSError, ValueError, KeyError):
        return []
    if report.cost is None:
        return []
    cost = report.cost
    line = (
        f"the last run, {directory.name}: {report.steps} steps watched, {cost.own_seconds:.2f} s of "
        f"{cost.seconds:.2f} s were torchwhy's ({cost.share:.1%}; in a short run mostly the first step)"
    )
    return [(True, line), *((True, f"there from step {e.step} on: {e.reason}") for e in thinned)]


def check_python() -> tuple[bool, str]:
    """Return whether this Python is new enough."""
    return sys.version_info >= (3, 10), f"Python {platform.python_version()} at {sys.executable}"


def check_torch() -> tuple[bool, str]:
    """Return whether a torch we know is installed, without importing it."""
    from importlib import metadata

    try:
        version = metadata.version("torch")
    except metadata.PackageNotFoundError:
        return False, "torch is not installed for this Python: `pip install torch`"
    numbers = tuple(int(part) for part in version.split("+")[0].split(".")[:2])
    if numbers < OLDEST_TORCH:
        return False, f"torch {version}; torchwhy needs 2.4 or newer"
    return True, f"torch {version}"


def check_accelerator() -> tuple[bool, str]:
    """Return whether ordinary steps are watched in C; without it all works, and tiny steps cost more."""
    from torchwhy.observe.native import records

    if records.fast is not None:
        return True, "the accelerator was built: ordinary steps are watched in C"
    reason = (
        f"{records.VARIABLE}=0"
        if records.is_refused()
        else "there was no C compiler when installing"
    )
    return (
        True,
        f"no accelerator ({reason}): Python watches every step, which takes some 40 µs more",
    )


def check_boot() -> tuple[bool, str]:
    """Return whether a child process is really watched, by starting one."""
    import tempfile

    from torchwhy.observe.launch import child_environment, describe_run
    from torchwhy.record.run_file import write_run

    with tempfile.TemporaryDirectory() as folder:
        run = describe_run(["-c", PROBE], on_failure="stop")
        write_run(Path(folder), run)
        try:
            child = subprocess.run(
                [sys.executable, "-c", PROBE],
                env=child_environment(Path(folder), run),
                capture_output=True,
                timeout=CHILD_SECONDS,
                check=True,
            )
            facts = json.loads(child.stdout.splitlines()[-1])
        except (subprocess.SubprocessError, ValueError, IndexError) as problem:
            return False, f"a watched child process failed: {problem}"
        failure = Path(folder) / "boot-failure.txt"
        if failure.exists():
            return False, f"torchwhy fails inside a program:\n{failure.read_text()}"
    if not facts["armed"]:
        return False, "a child process does not load torchwhy: is PYTHONPATH ignored here?"
    if not facts["torch"]:
        return True, "a child process is ready to be watched (torch itself was not imported)"
    return bool(facts["watching"]), "a program that imports torch is watched"
