"""Run whole programs under torchwhy and say what it found, as `torchwhy run` would, in a fraction of the time.

python -m tests.support.run_program train.py …          one line per file: detector:line of the root cause
python -m tests.support.run_program --detector NAME …   the documented programs of these detectors
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tests.support.children import Ended, Zygote, shared_zygote
from tests.support.trace_cache import TraceCache
from torchwhy.detect.registry import all_detectors
from torchwhy.finding import Finding
from torchwhy.pipeline import diagnose
from torchwhy.record.run_file import Run, read_traces, write_run
from torchwhy.replay.step.rerun_parent import needs_rerun
from torchwhy.report.model import Report

AT_A_TIME = 2
ONE_READS = threading.Lock()  # msgspec has crashed while two threads made their first decoders
REHEARSED_STEPS = 60  # of a program that is run as `torchwhy check` does
SHOWN_CHARACTERS = 3000
REHEARSED_SECONDS = 40.0
SCRIPT = "train.py"
GUESTS = Path(__file__).resolve().parents[1] / "guest" / "programs"
WITHOUT_REPORT = {
    "witness",
    "two_ranks",
    "drawn_by_ranks",
    "sharded_ranks",
    "forked_ranks",
    "killed_any_time",
    "blind_microscope",
    "breaks_while_cruising",
    "full_disk",
    "no_run_directory",
    "watched_inside",
    "inductor",
    "versions",
    "failing",
    "lifetimes",
}
RUN = Path(".torchwhy") / "runs" / "run"
PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
WHOLE_PROGRAMS = "whole_programs"  # the folder of healthy programs that resemble no cause
MARK = re.compile(r"# <- (?P<name>[a-z0-9-]+)\s*$")


@dataclass(frozen=True)
class ProgramText:
    """A program to run and what must come out: `expected` is None where torchwhy must stay silent.

    `beside` holds the other files of a package by their paths; `guilty_file` is the one with the marked line.
    `snapshot` is the file that pins the rendered report. `rehearsed` programs run as `torchwhy check` runs them.
    """

    id: str
    text: str
    expected: tuple[str, int] | None = None
    beside: tuple[tuple[str, str], ...] = ()
    guilty_file: str = SCRIPT
    snapshot: Path | None = None
    rehearsed: bool = False

    @property
    def is_rehearsed(self) -> bool:
        """Tell whether it belongs to a cause that only an experiment of `torchwhy check` shows."""
        named = self.id.partition("/")[0], self.id.rsplit("-", 2)[0]
        causes = (self.expected[0],) if self.expected is not None else named
        known = all_detectors()
        return self.rehearsed or any(one in known and known[one].only_in_check for one in causes)

    @property
    def files(self) -> list[tuple[str, str]]:
        """Return all files of the program: path and text."""
        return [(SCRIPT, self.text), *self.beside]


@dataclass(frozen=True)
class Outcome:
    """What the program did and what torchwhy says about it."""

    program: ProgramText
    ended: Ended
    report: Report
    run_directory: Path

    @property
    def cause(self) -> Finding | None:
        """Return the root cause; what a program marks and is only noted is no root cause, but must be there."""
        cause = self.report.root_cause
        if cause is None and self.program.expected is not None:
            name = self.program.expected[0]
            return next((one for one in self.report.findings if one.detector == name), None)
        return cause

    @property
    def root(self) -> tuple[str, int | None] | None:
        """Return detector and line of the root cause, None for a healthy run."""
        cause = self.cause
        return (
            None
            if cause is None
            else (cause.detector, cause.location.line if cause.location else None)
        )

    @property
    def as_expected(self) -> bool:
        """Tell whether the marked line is the root cause or, where silence is due, the program ran to a good end.

        A probe or detector of ours that broke on the way is never as expected.
        """
        broke = any("failed and was" in note for note in self.report.all_notes)
        if broke or self.ended.timed_out or self.root != self.program.expected:
            return False
        cause = self.cause
        if cause is None or cause.location is None:
            return self.program.expected is None and self.ended.exit_code == 0
        return cause.location.file == self.program.guilty_file

    def describe(self) -> str:
        """Return everything a person needs to see why this is not what was expected."""
        how = "timed out" if self.ended.timed_out else f"exit code {self.ended.exit_code}"
        reran = ", then run again" if (self.run_directory / "rerun").exists() else ""
        lines = [
            f"{self.program.id}: expected {spell(self.program.expected)}, found {spell(self.root)}",
            f"{how} after {self.ended.seconds:.1f} s{reran}; recorded in {self.run_directory}",
            *self.report.all_notes,
        ]
        nested = {below.message for finding in self.report.findings for below in finding.explains}
        for finding in self.report.findings:
            lines += tell(finding) if finding.message not in nested else []
        for stream in ("stdout", "stderr"):
            text = (self.run_directory / stream).read_text(errors="replace")
            lines += [f"--- {stream}", text[-SHOWN_CHARACTERS:]]
        return "\n".join(lines)


def spell(root: tuple[str, int | None] | None) -> str:
    """Return `detector:line`, or that there is nothing."""
    return "nothing" if root is None else f"{root[0]}:{root[1]}"


def tell(finding: Finding, depth: int = 0) -> list[str]:
    """Return a finding and what it explains, indented."""
    margin = "  " * depth
    lines = [
        f"{margin}{finding.severity} {finding.detector} at {finding.location}, step {finding.step}"
    ]
    lines.append(f"{margin}    {finding.message}")
    lines += [f"{margin}    . {evidence.claim}" for evidence in finding.evidence]
    for consequence in finding.explains:
        lines += tell(consequence, depth + 1)
    return lines


def read_program(path: Path) -> ProgramText:
    """Read a program, a file or a folder with a `train.py`; the line that ends in `# <- name` is the guilty one."""
    if not path.is_dir():
        return ProgramText(
            id_of(path),
            path.read_text(),
            marked(path.read_text()),
            snapshot=snapshot_of(path),
        )
    texts = {str(file.relative_to(path)): file.read_text() for file in sorted(path.rglob("*.py"))}
    guilty = next((name for name, text in texts.items() if marked(text) is not None), SCRIPT)
    script, expected = texts.pop(SCRIPT), marked((path / guilty).read_text())
    return ProgramText(
        id_of(path),
        script,
        expected,
        tuple(texts.items()),
        guilty,
        snapshot_of(path),
    )


def id_of(path: Path) -> str:
    """Return `cause/broken/name` or `cause/healthy/name` for a kept program, `folder-name` for any other."""
    path = path.resolve()
    if path.is_relative_to(PROGRAMS):
        return str(path.relative_to(PROGRAMS).with_suffix(""))
    return f"{path.parent.name}-{path.stem}"


def snapshot_of(program: Path) -> Path:
    """Return the file beside a program that pins its report."""
    return program.with_name(f"{program.stem}.report.txt")


def programs_in(folder: Path) -> list[ProgramText]:
    """Read every program of a folder: its files, and its folders that hold a `train.py`."""
    paths = [*folder.glob("*.py"), *(script.parent for script in folder.glob(f"*/{SCRIPT}"))]
    return [read_program(path) for path in sorted(paths)]


def kept_programs(kind: Literal["broken", "healthy"]) -> list[ProgramText]:
    """Read the programs of all causes in `tests/programs`."""
    folders = sorted(PROGRAMS.glob(f"*/{kind}"))
    return [program for folder in folders for program in programs_in(folder)]


def guest_programs() -> list[ProgramText]:
    """Read the programs that the guest tests compare with and without torchwhy; `witness.py` serves them all.

    Left out are those that need arguments, ranks or a fault of ours, or that end at a moment of chance.
    """
    witness = ("witness.py", (GUESTS / "witness.py").read_text())
    paths = [*GUESTS.glob("*.py"), *GUESTS.glob("dying/*.py")]
    return [
        ProgramText(
            f"guest/{path.relative_to(GUESTS).with_suffix('')}",
            path.read_text(),
            beside=(witness,),
            snapshot=snapshot_of(path),
        )
        for path in sorted(paths)
        if path.stem not in WITHOUT_REPORT
    ]


def marked(text: str) -> tuple[str, int] | None:
    """Return the name and number of the first marked line."""
    for number, line in enumerate(text.splitlines(), start=1):
        mark = MARK.search(line)
        if mark is not None:
            return mark["name"], number
    return None


def run_program(program: ProgramText, *, zygote: Zygote, folder: Path) -> Outcome:
    """Run one program, run it again where the failing step was not seen in place, and diagnose."""
    script = folder / SCRIPT
    for name, text in program.files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    run_directory = folder / RUN
    run_directory.mkdir(parents=True)
    steps = REHEARSED_STEPS if program.is_rehearsed else None
    ended = _run(script, run_directory, zygote=zygote, rehearsal_steps=steps)
    with ONE_READS:
        step = needs_rerun(read_traces(run_directory))
    if step is not None:
        again = run_directory / "rerun"
        again.mkdir()
        _run(script, again, zygote=zygote, rerun_step=step)
    with ONE_READS:
        return Outcome(program, ended, diagnose(run_directory), run_directory)


def _run(
    script: Path,
    run_directory: Path,
    *,
    zygote: Zygote,
    rerun_step: int | None = None,
    rehearsal_steps: int | None = None,
) -> Ended:
    run = Run(
        command=(script.name,),
        directory=str(script.parent),
        rerun_step=rerun_step,
        rehearsal_steps=rehearsal_steps,
        rehearsal_seconds=REHEARSED_SECONDS if rehearsal_steps else None,
    )
    write_run(run_directory, run)
    ended = zygote.run(
        script, directory=script.parent, output=run_directory, run_directory=run_directory
    )
    signal = -ended.exit_code if ended.exit_code < 0 else None
    code = ended.exit_code if signal is None else 128 + signal
    over = replace(
        run, exit_code=code, signal=signal, seconds=ended.seconds, timed_out=ended.timed_out
    )
    write_run(run_directory, over)
    return ended


def recorded_program(program: ProgramText, cache: TraceCache) -> Outcome | None:
    """Diagnose what a program recorded earlier; None if it is not in the cache."""
    found = cache.find(program.files)
    if found is None:
        return None
    folder, ended = found
    return Outcome(program, ended, diagnose(folder / RUN), folder / RUN)


def run_programs(programs: list[ProgramText], folder: Path) -> dict[str, Outcome]:
    """Run many, two at a time, each in a folder of its own."""
    zygote = shared_zygote()

    def one(program: ProgramText) -> Outcome:
        own = folder / program.id
        own.mkdir(parents=True)
        return run_program(program, zygote=zygote, folder=own)

    with ThreadPoolExecutor(AT_A_TIME) as pool:
        return {outcome.program.id: outcome for outcome in pool.map(one, programs)}


def documented_programs(*names: str) -> list[ProgramText]:
    """Return the programs of these detectors' manual pages, of all detectors if none is named."""
    return [
        ProgramText(
            f"{program.detector}-{program.section}-{program.number}",
            program.text,
            marked(program.text) if program.section == "broken" else None,
            snapshot=PROGRAMS / name / "manual" / f"{program.section}-{program.number}.report.txt",
        )
        for name, detector in all_detectors().items()
        if not names or name in names
        for program in detector.programs()
    ]


def main() -> int:
    """Print the root cause of each file; exit 1 if one differs from its mark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument(
        "--detector", action="append", default=[], help="run this detector's documented programs"
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="print findings and output, too"
    )
    arguments = parser.parse_args()
    programs = [read_program(path) for path in dict.fromkeys(arguments.files)]
    if arguments.detector:
        programs += documented_programs(*arguments.detector)
    folder = Path(tempfile.mkdtemp(prefix="torchwhy-programs-"))
    wrong = 0
    for outcome in run_programs(programs, folder).values():
        wrong += not outcome.as_expected
        right = "ok   " if outcome.as_expected else "WRONG"
        sys.stdout.write(
            f"{right} {outcome.program.id}: {spell(outcome.root)} ({outcome.ended.seconds:.1f} s)\n"
        )
        if arguments.verbose:
            sys.stdout.write(outcome.describe() + "\n\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
