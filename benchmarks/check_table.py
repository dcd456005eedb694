"""What each question of `torchwhy check` finds and costs: checks programs of the tests, fills the table of the docs.

    python -m benchmarks.check_table [--results FILE] [--limit 120] [--rehearse STEPS] [--write] [PROGRAM …]

Without programs it takes all below tests/programs. A program in a folder `broken` is broken, every other is healthy.
Answers are appended to FILE, and a program that is in it is not checked again, so the work can be done in pieces.
`--rehearse` rehearses the programs in children of one process and makes no further runs: five seconds a program
instead of thirty.
`--write` puts the table into docs/explanation/check.md; without it the table is printed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.support.children import Zygote
from tests.support.rehearsals import rehearse

from torchwhy.record.learning import Experiment
from torchwhy.record.run_file import read_traces

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "tests" / "programs"
PAGE = ROOT / "docs" / "explanation" / "check.md"
BEGIN, END = "<!-- begin of the table -->", "<!-- end of the table -->"
FURTHER_RUNS = {"other-seeds": 2, "resume-restores": 2}


def checked(program: Path, limit: float) -> dict[str, Any]:
    """Check one program in a folder of its own; return its answers and the seconds of its experiments."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        shutil.copy(program, folder / "train.py")
        words = ["check", "--limit", f"{limit:g}", "--json", "report.json", "train.py"]
        done = subprocess.run(
            [sys.executable, "-m", "torchwhy", *words],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            return {"failure": done.stderr[-300:]}
        report = json.loads((folder / "report.json").read_text())
        (run,) = (folder / ".torchwhy" / "runs").iterdir()
        seconds = {
            event.question: event.seconds
            for trace in read_traces(run)
            for event in trace.of(Experiment)
        }
    answers = {one["question"]: one["answer"] for one in report["checks"]}
    return {"answers": answers, "seconds": seconds}


def rehearsed(program: Path, steps: int, zygote: Zygote) -> dict[str, Any]:
    """Rehearse one program; return its answers and the seconds of its experiments."""
    try:
        done = rehearse(program.read_text(encoding="utf8"), zygote=zygote, steps=steps)
    except OSError as problem:
        return {"failure": str(problem)}
    seconds = {slug: one.seconds for slug, one in done.experiments.items()}
    return {
        "answers": {one.question.slug: one.answer for one in done.report.checks},
        "seconds": seconds,
    }


def collect(
    programs: Iterable[Path], results: Path, check: Callable[[Path], dict[str, Any]]
) -> list[dict[str, Any]]:
    """Check the programs that are not among the results yet; return all results."""
    known = (
        [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    )
    names = {one["program"] for one in known}
    for program in programs:
        name = str(program.relative_to(ROOT) if program.is_relative_to(ROOT) else program)
        if name in names:
            continue
        is_broken = bool({"broken", "no"} & set(program.parts))
        found = {"program": name, "broken": is_broken, **check(program)}
        known.append(found)
        with results.open("a") as file:
            file.write(json.dumps(found) + "\n")
        print(
            f"{name}: {[q for q, a in found.get('answers', {}).items() if a == 'no']}",
            file=sys.stderr,
        )
    return known


def table(results: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the table, one question in a row."""
    answered = [one for one in results if "answers" in one]
    broken = [one for one in answered if one["broken"]]
    denied = sum("no" in one["answers"].values() for one in broken)
    yield f"{len(broken)} broken programs, of which {denied} get a no, and {len(answered) - len(broken)} healthy ones:"
    yield ""
    yield "| question | broken programs it finds | healthy programs it passes | further runs | seconds, median |"
    yield "|---|---|---|---|---|"
    for slug in dict.fromkeys(question for one in answered for question in one["answers"]):
        found = [one["answers"].get(slug) for one in answered if one["broken"]]
        passed = [one["answers"].get(slug) for one in answered if not one["broken"]]
        asked = len(passed) - passed.count("could-not-ask") - passed.count(None)
        took = [
            one["seconds"][slug]
            for one in answered
            if slug in one["seconds"] and one["answers"].get(slug) != "could-not-ask"
        ]
        shown = f"{statistics.median(took):.2f}" if any(took) else "–"
        yield (
            f"| {slug} | {found.count('no')} of {len(found)} | {passed.count('yes')} of {asked} asked | "
            f"{FURTHER_RUNS.get(slug, 0)} | {shown} |"
        )


def main() -> None:
    """Check programs, and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", type=Path)
    parser.add_argument("--results", type=Path, default=Path("check-results.jsonl"))
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--rehearse", metavar="STEPS", type=int)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    programs = [one.absolute() for one in options.programs]
    every = programs or sorted(PROGRAMS.rglob("*.py"))
    if options.rehearse is None:
        results = collect(every, options.results, lambda one: checked(one, options.limit))
    else:
        zygote = Zygote()
        results = collect(
            every, options.results, lambda one: rehearsed(one, options.rehearse, zygote)
        )
        zygote.close()
    lines = "\n".join(table(results))
    if not options.write:
        print(lines)
        return
    before, _, rest = PAGE.read_text(encoding="utf8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{lines}\n{END}{after}", encoding="utf8")


if __name__ == "__main__":
    main()
