"""Check this environment: Python, torch, whether torchwhy can watch a program, and which parts of it.

Torchwhy uses private names of torch and Python. If a version lacks one, only the part that needs it is off; this
command lists what is lost.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from torchwhy.printable import printable

OLDEST_TORCH = (2, 4)
CHILD_SECONDS = 120.0  # The first import of torch from a cold disk takes long.
PROBE = """
import json, sys
try:
    import torch
except ImportError:
    pass
features = {}
if "torch" in sys.modules and "torchwhy.observe.boot.wire" in sys.modules:
    from torchwhy.observe.torch_features.resolve import missing_names
    from torchwhy.observe.torch_features.table import FEATURES
    features = {name: missing_names(feature) for name, feature in FEATURES.items()}
print(json.dumps({"armed": "torchwhy.observe.boot.arm" in sys.modules,
                  "torch": "torch" in sys.modules,
                  "watching": "torchwhy.observe.boot.wire" in sys.modules,
                  "features": features}))
"""

Check = tuple[bool, str]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="list every private name that torchwhy uses, and what is lost without it",
    )


def execute(options: argparse.Namespace) -> int:
    """Print one line per check; return 1 if something does not work."""
    boot, missing = check_boot()
    checks = [
        check_python(),
        check_torch(),
        boot,
        check_accelerator(missing),
        check_confinement(),
        *last_run(),
    ]
    for works, line in checks:
        print(printable(f"{'ok     ' if works else 'problem'}  {line}"))
    for line in feature_lines(missing, verbose=options.verbose):
        print(line)
    return 0 if all(works for works, _ in checks) else 1


def feature_lines(missing: dict[str, list[str]], *, verbose: bool) -> Iterator[str]:
    """Yield the features that lack a private name, and what is lost without each; all features if `verbose`."""
    from torchwhy.observe.torch_features.table import FEATURES

    if not missing:
        return
    known = [feature for name, feature in FEATURES.items() if name in missing]
    lacking = [feature for feature in known if missing[feature.name]]
    if not lacking:
        yield f"ok       all {len(known)} private features of torch and Python are present"
    else:
        present = len(known) - len(lacking)
        yield f"ok       {present} of {len(known)} private features of torch and Python are present"
    for feature in known if verbose else lacking:
        names = missing[feature.name]
        state, without = ("missing", "") if names else ("present", "without it ")
        yield f"{state}  {feature.name}: {without}{feature.lost}"
        since = f" ({feature.in_releases})" if feature.in_releases else ""
        yield f"{'':13}{', '.join(names or feature.names)}{since}"


def last_run() -> list[Check]:
    """Return what watching cost in the newest run of this directory; nothing if there is none."""
    from torchwhy.commands.history.recorded_runs import find_run
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
        f"the last run, {directory.name}: {report.steps} steps watched; torchwhy took {cost.own_seconds:.2f} s of "
        f"{cost.seconds:.2f} s ({cost.share:.1%}; in a short run mostly in the first step)"
    )
    return [(True, line), *((True, f"in it, from step {e.step} on: {e.reason}") for e in thinned)]


def check_python() -> Check:
    """Return whether this Python is new enough."""
    return sys.version_info >= (3, 10), f"Python {platform.python_version()} at {sys.executable}"


def check_torch() -> Check:
    """Return whether a supported torch is installed, without importing it."""
    from importlib import metadata

    try:
        version = metadata.version("torch")
    except metadata.PackageNotFoundError:
        return False, "torch is not installed for this Python: `pip install torch`"
    numbers = tuple(int(part) for part in version.split("+")[0].split(".")[:2])
    if numbers < OLDEST_TORCH:
        return False, f"torch {version}; torchwhy needs 2.4 or newer"
    return True, f"torch {version}"


def check_accelerator(missing: dict[str, list[str]]) -> Check:
    """Return whether C code watches ordinary steps; without it everything works, but tiny steps cost more."""
    from torchwhy.observe.native import records

    if records.fast is not None and not missing.get("tensor-exchange"):
        return True, "accelerator built: C code watches ordinary steps"
    if records.fast is not None:
        reason = "this torch does not expose its tensors to C code"
    elif records.is_refused():
        reason = f"{records.VARIABLE}=0"
    elif sys.version_info < (3, 11):
        reason = "there is none for Python 3.10"
    else:
        reason = "no C compiler was found at installation"
    return (
        True,
        f"no accelerator ({reason}): Python code watches every step, which takes about 40 µs more",
    )


def check_confinement() -> Check:
    """Return how second runs and trials leave the user's files alone."""
    from torchwhy.confine.confined_run import way_here

    told = {
        "layers": "second runs and trials write into a layer over your files, which is thrown away",
        "mounts": "second runs and trials run in a copy, and all other files are read-only for them",
        "landlock": "second runs and trials run in a copy, and the kernel lets them write nowhere else",
        "hook": "second runs and trials run in a copy, and Python lets them write nowhere else",
    }
    way = way_here(Path.cwd())
    return way in told, told.get(way, "second runs and trials cannot start here")


def check_boot() -> tuple[Check, dict[str, list[str]]]:
    """Start a child process and return whether torchwhy watches it, and which private names it lacks."""
    import tempfile

    from torchwhy.observe.launch import child_environment, describe_run
    from torchwhy.record.run_file import BOOT_FAILURE, write_run

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
            return (False, f"a watched child process failed: {problem}"), {}
        failure = Path(folder) / BOOT_FAILURE
        if failure.exists():
            return (False, f"torchwhy fails inside a program:\n{failure.read_text()}"), {}
    if not facts["armed"]:
        return (
            False,
            "child processes do not load torchwhy: does Python ignore PYTHONPATH here?",
        ), {}
    if not facts["torch"]:
        return (True, "torchwhy can watch child processes (torch itself was not imported)"), {}
    watched = (bool(facts["watching"]), "torchwhy watches programs that import torch")
    return watched, facts["features"]
