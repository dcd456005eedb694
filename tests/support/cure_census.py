"""Count how many broken programs get a cure that was run, per cause.

python -m tests.support.cure_census FOLDER              every broken program of tests/programs
python -m tests.support.cure_census FOLDER train.py …   these programs
python -m tests.support.cure_census FOLDER --documented the broken programs of all manual pages

FOLDER keeps the recorded runs and the results: a program that is there already is not run again, so a census
can be interrupted. `--again WORD` tries the fixes of programs with this result anew, on their recorded runs.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.support.children import Ended, Zygote
from tests.support.run_fixes import Fixed, try_fixes
from tests.support.run_program import (
    Outcome,
    ProgramText,
    documented_programs,
    kept_programs,
    read_program,
    run_program,
)
from torchwhy.pipeline import diagnose
from torchwhy.record.run_file import read_run

WORDS = ("cured", "symptom only", "proposal failed", "no proposal", "wrong diagnosis")


@dataclass(frozen=True)
class Counted:
    """What `torchwhy fix` does for one program."""

    program: str
    cause: str
    result: str
    title: str
    tried: str


def count(program: ProgramText, folder: Path, *, zygote: Zygote) -> Counted:
    """Diagnose a program, or take its recorded run, and try its fixes."""
    own = folder / program.id
    outcome = _recorded(program, own)
    if outcome is None:
        shutil.rmtree(own, ignore_errors=True)
        own.mkdir(parents=True)
        outcome = run_program(program, zygote=zygote, folder=own)
    shutil.rmtree(outcome.run_directory / "trials", ignore_errors=True)
    return _counted(try_fixes(outcome, zygote=zygote))


def _recorded(program: ProgramText, own: Path) -> Outcome | None:
    run_directory = own / ".torchwhy" / "runs" / "run"
    script = own / "train.py"
    if not script.is_file() or script.read_text() != program.text:
        return None
    run = read_run(run_directory)
    if run.exit_code is None:
        return None
    ended = Ended(run.exit_code, run.timed_out, run.seconds or 0.0)
    return Outcome(program, ended, diagnose(run_directory), run_directory)


def _counted(fixed: Fixed) -> Counted:
    fixes = () if fixed.finding is None else fixed.finding.fixes
    verdicts = {fix.trial.verdict for fix in fixes if fix.diff}
    result = "no proposal"
    if fixed.cure is not None:
        result = "cured"
    elif "symptom-only" in verdicts:
        result = "symptom only"
    elif fixed.was_proposed:
        result = "proposal failed"
    elif not fixed.outcome.as_expected:
        result = "wrong diagnosis"
    cause = fixed.outcome.root[0] if fixed.outcome.root else "nothing"
    title = fixed.cure.title if fixed.cure else ""
    tried = "" if fixed.cure else fixed.describe()
    return Counted(fixed.outcome.program.id, cause, result, title, tried)


def table(results: Iterable[Counted]) -> str:
    """Return how many programs of each cause got which result."""
    rows: dict[str, Counter[str]] = {}
    for one in results:
        rows.setdefault(one.cause, Counter())[one.result] += 1
    total = sum(rows.values(), Counter[str]())
    lines = [f"{'':40}" + "".join(f"{word:>17}" for word in WORDS)]
    for cause, counts in [*sorted(rows.items()), ("all", total)]:
        lines.append(f"{cause:40}" + "".join(f"{counts[word] or '':>17}" for word in WORDS))
    return "\n".join(lines)


def _read(results: Path) -> dict[str, Counted]:
    """Return the last result of every program."""
    lines = results.read_text().splitlines() if results.is_file() else []
    return {one.program: one for one in (Counted(**json.loads(line)) for line in lines)}


def _chosen(arguments: argparse.Namespace) -> Sequence[ProgramText]:
    if arguments.documented:
        return [program for program in documented_programs() if "-broken-" in program.id]
    if arguments.files:
        return [read_program(path) for path in arguments.files]
    return kept_programs("broken")


def main() -> int:
    """Count, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--documented", action="store_true")
    parser.add_argument("--again", action="append", default=[], choices=WORDS)
    parser.add_argument("--cause", action="append", default=[], help="again, for this cause")
    arguments = parser.parse_args()
    results = arguments.folder / "results.jsonl"
    known = _read(results)
    programs = _chosen(arguments)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    zygote = Zygote()
    try:
        for program in programs:
            before = known.get(program.id)
            is_due = before is None or before.result in arguments.again
            if not is_due and (before is None or before.cause not in arguments.cause):
                continue
            known[program.id] = one = count(program, arguments.folder, zygote=zygote)
            with results.open("a") as file:
                file.write(json.dumps(asdict(one)) + "\n")
            sys.stdout.write(f"{one.result:17}{one.cause:34}{one.program}: {one.title}\n")
            sys.stdout.flush()
    finally:
        zygote.close()
    sys.stdout.write(table(known[program.id] for program in programs if program.id in known) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
