"""Try the proposed fixes of whole programs, as `torchwhy fix` would, in forked children.

python -m tests.support.run_fixes train.py …            one line per file: which fix cures it
python -m tests.support.run_fixes --detector NAME …     the documented broken programs of these detectors
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from tests.support.children import Zygote, shared_zygote
from tests.support.run_program import (
    AT_A_TIME,
    SCRIPT,
    Outcome,
    ProgramText,
    documented_programs,
    read_program,
    run_program,
)
from torchwhy.finding import Finding, Fix
from torchwhy.pipeline import diagnose
from torchwhy.record.run_file import Run, write_run
from torchwhy.verify.campaign import try_all
from torchwhy.verify.candidates import candidates
from torchwhy.verify.trial import Laboratory

LIMIT_SECONDS = 120.0


@dataclass(frozen=True)
class Fixed:
    """The program as it was found, and its root cause with the trials of its fixes."""

    outcome: Outcome
    finding: Finding | None

    @property
    def cure(self) -> Fix | None:
        """Return the fix that cured it, or that at least makes it run."""
        fixes = () if self.finding is None else self.finding.fixes
        works = ("cured", "runs")
        return next((f for f in fixes if f.trial.verdict in works and f.trial.summary), None)

    @property
    def is_only_hidden(self) -> bool:
        """Tell whether the failure goes away, but only by changes that hide it or undo what the program states."""
        fixes = () if self.finding is None else self.finding.fixes
        verdicts = {fix.trial.verdict for fix in fixes}
        return self.cure is None and bool({"symptom-only", "changes-intent"} & verdicts)

    @property
    def was_proposed(self) -> bool:
        """Tell whether there was anything to try."""
        return self.finding is not None and any(fix.diff for fix in self.finding.fixes)

    def describe(self) -> str:
        """Return what was tried and what came of it."""
        fixes = () if self.finding is None else self.finding.fixes
        lines = [f"{self.outcome.program.id}: root {self.outcome.root}"]
        for fix in fixes:
            lines += [f"  {fix.trial.verdict}: {fix.title}", f"    {fix.trial.summary}", fix.diff]
        return "\n".join(lines)


def run_fixes(programs: Sequence[ProgramText], folder: Path) -> dict[str, Fixed]:
    """Diagnose many programs and try their fixes, two at a time, each in a folder of its own."""
    zygote = shared_zygote()

    def one(program: ProgramText) -> Fixed:
        own = folder / program.id
        own.mkdir(parents=True)
        return try_fixes(run_program(program, zygote=zygote, folder=own), zygote=zygote)

    with ThreadPoolExecutor(AT_A_TIME) as pool:
        return {fixed.outcome.program.id: fixed for fixed in pool.map(one, programs)}


def try_fixes(outcome: Outcome, *, zygote: Zygote) -> Fixed:
    """Try the candidates of a diagnosed program."""
    cause = outcome.cause
    if cause is None:
        return Fixed(outcome, None)
    directory = outcome.run_directory.parents[2]
    if not candidates(cause, directory):
        return Fixed(outcome, cause)

    def launch(place: Path, run: Run, limit_seconds: float) -> Run:
        return _launch(place, run, limit_seconds=limit_seconds, zygote=zygote)

    laboratory = Laboratory(
        outcome.run_directory, cause, lambda place: diagnose(place).findings, launch
    )
    done = try_all(
        laboratory, outcome.report.findings, limit_seconds=LIMIT_SECONDS, tell=lambda _: None
    )
    return Fixed(outcome, done.finding)


def _launch(place: Path, run: Run, *, limit_seconds: float, zygote: Zygote) -> Run:
    """Run a trial in a forked child: the edited texts are written into a copy of the program's folder."""
    changes = place / "overlay.json"
    overlay = json.loads(changes.read_text()) if changes.exists() else {}
    original = Path(run.directory)
    directory = place / "program"
    shutil.copytree(original, directory, ignore=shutil.ignore_patterns(".torchwhy"))
    for path, edited in overlay.items():
        if Path(path).is_relative_to(original):
            (directory / Path(path).relative_to(original)).write_bytes(Path(edited).read_bytes())
    write_run(place, run)
    ended = zygote.run(
        directory / SCRIPT,
        directory=directory,
        output=place,
        run_directory=place,
        limit_seconds=limit_seconds,
    )
    code = ended.exit_code if ended.exit_code >= 0 else 128 - ended.exit_code
    over = replace(run, exit_code=code, seconds=ended.seconds, timed_out=ended.timed_out)
    write_run(place, over)
    return over


def main() -> int:
    """Print what cures each program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--detector", action="append", default=[])
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args()
    programs = [read_program(path) for path in arguments.files]
    if arguments.detector:
        names = [name for name in arguments.detector if name != "all"]
        programs += [p for p in documented_programs(*names) if "-broken-" in p.id]
    folder = Path(tempfile.mkdtemp(prefix="torchwhy-fixes-"))
    counts: Counter[str] = Counter()
    for fixed in run_fixes(programs, folder).values():
        word = "uncured" if fixed.was_proposed else "nothing proposed"
        if fixed.cure is not None:
            word = fixed.cure.trial.verdict
        elif fixed.is_only_hidden:
            word = "hidden"
        counts[word] += 1
        title = fixed.cure.title if fixed.cure else ""
        right = "" if fixed.outcome.as_expected else " (wrong diagnosis)"
        sys.stdout.write(f"{word:17}{fixed.outcome.program.id}: {title}{right}\n")
        if arguments.verbose or word in ("uncured", "hidden"):
            sys.stdout.write(fixed.describe() + "\n\n")
        sys.stdout.flush()
    sys.stdout.write(f"{dict(counts)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
