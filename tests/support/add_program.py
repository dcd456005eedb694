"""Add a program to `tests/programs`, with the report that torchwhy gives on it.

python -m tests.support.add_program train.py --name NAME                  a broken one: it marks its guilty line
python -m tests.support.add_program train.py --name NAME --healthy CAUSE  a healthy one that resembles this cause

`train.py` may be a folder that holds a `train.py`. Nothing is kept unless torchwhy's answer is the expected one.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from tests.support.run_program import (
    MARK,
    PROGRAMS,
    SCRIPT,
    WHOLE_PROGRAMS,
    Outcome,
    ProgramText,
    read_program,
    run_programs,
    snapshot_of,
    spell,
)
from tests.support.snapshots import render
from torchwhy.detect.registry import all_detectors

NAME = re.compile(r"[a-z][a-z0-9_]*")


class RefusedError(Exception):
    """The program is not added; the message says why in one sentence."""


def run_alone(program: ProgramText, folder: Path) -> Outcome:
    """Run one program in this folder."""
    return run_programs([program], folder)[program.id]


def add(
    source: Path,
    *,
    name: str | None,
    healthy: str | None,
    folder: Path = PROGRAMS,
    run: Callable[[ProgramText, Path], Outcome] = run_alone,
) -> Path:
    """Run the program, print its report and copy it to its place under `folder`, which is returned."""
    program = _read(source)
    if healthy in all_detectors():
        program = replace(program, rehearsed=all_detectors()[healthy].only_in_check)
    target = _place(source, program, name=name, healthy=healthy, folder=folder)
    with tempfile.TemporaryDirectory(prefix="torchwhy-program-") as directory:
        outcome = run(program, Path(directory))
        report = render(outcome)
    sys.stdout.write(report)
    if target is None:
        raise RefusedError(_question(outcome))
    if not outcome.as_expected:
        raise RefusedError(_complaint(outcome))
    _copy(source, target)
    snapshot_of(target).write_text(report)
    return target


def _read(source: Path) -> ProgramText:
    if not source.is_file() and not (source / SCRIPT).is_file():
        raise RefusedError(f"{source} is neither a file nor a folder that holds a {SCRIPT}.")
    try:
        program = read_program(source)
    except UnicodeDecodeError:
        raise RefusedError(f"{source} is no Python program: it does not hold text.") from None
    marks = sum(len(MARK.findall(line)) for _, text in program.files for line in text.splitlines())
    if marks > 1:
        raise RefusedError(f"{source} marks {marks} lines: mark the guilty one only.")
    return replace(program, id="program")


def _place(
    source: Path, program: ProgramText, *, name: str | None, healthy: str | None, folder: Path
) -> Path | None:
    """Return where the program belongs; None if neither a mark nor `healthy` says its cause."""
    name = source.stem if name is None else name
    if not NAME.fullmatch(name) or name == Path(SCRIPT).stem:
        raise RefusedError(f"`{name}` says too little: name the program with --name what_it_does.")
    if program.expected is not None and healthy is not None:
        line = program.expected[1]
        raise RefusedError(f"Line {line} is marked as guilty, and a healthy program marks none.")
    cause = program.expected[0] if program.expected is not None else healthy
    if cause is None:
        return None
    if cause not in all_detectors() and healthy != WHOLE_PROGRAMS:
        raise RefusedError(f"`{cause}` is no cause: `torchwhy explain` lists them.")
    kind = "broken" if healthy is None else "healthy"
    target = folder / cause / kind / (name if source.is_dir() else f"{name}.py")
    for taken in (target.with_suffix(""), target.with_suffix(".py"), snapshot_of(target)):
        if taken.exists():
            raise RefusedError(f"{taken} exists already: choose another name.")
    return target


def _question(outcome: Outcome) -> str:
    """Ask for the mark or the cause, in view of what torchwhy says."""
    healthy = f"say with --healthy which cause it resembles, or --healthy {WHOLE_PROGRAMS}"
    cause = outcome.report.root_cause
    if cause is None:
        return f"torchwhy finds nothing: if the program is healthy, {healthy}."
    return (
        f"torchwhy names {cause.detector} at {cause.location}: if that is right, end the line in "
        f"`# <- {cause.detector}`; if the program is healthy, {healthy}."
    )


def _complaint(outcome: Outcome) -> str:
    """Say what differs from the expectation."""
    expected, found = outcome.program.expected, outcome.root
    broken = next((note for note in outcome.report.all_notes if "failed and was" in note), None)
    if broken is not None:
        return f"torchwhy itself failed: {broken}"
    if outcome.ended.timed_out:
        return f"The program did not end within {outcome.ended.seconds:.0f} seconds."
    if found == expected is None:
        return f"torchwhy finds nothing, but the program ended with exit code {outcome.ended.exit_code}."
    if found == expected and outcome.cause is not None:
        return f"The mark is in {outcome.program.guilty_file}, and torchwhy names {outcome.cause.location}."
    return f"Expected {spell(expected)}, found {spell(found)}."


def _copy(source: Path, target: Path) -> None:
    files = [source] if source.is_file() else sorted(source.rglob("*.py"))
    for file in files:
        place = target / file.relative_to(source) if source.is_dir() else target
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)


def main(arguments: Sequence[str] | None = None) -> int:
    """Add one program; exit 1 with one sentence if it is refused."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", type=Path, help="a file, or a folder that holds a train.py")
    parser.add_argument("--name", help="of the file in tests/programs; that of the file by default")
    parser.add_argument("--healthy", metavar="CAUSE", help="torchwhy must find nothing")
    chosen = parser.parse_args(arguments)
    try:
        target = add(chosen.program, name=chosen.name, healthy=chosen.healthy)
    except RefusedError as refused:
        sys.stderr.write(f"Not added. {refused}\n")
        return 1
    sys.stdout.write(f"Added {target} and {snapshot_of(target).name}.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
