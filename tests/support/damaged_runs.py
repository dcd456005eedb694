"""Damages recorded runs at random, as a bad disk or a stranger would, and asks torchwhy about them.

`python -m tests.support.damaged_runs RUN... --seed 1 --rounds 1000` looks for failures for longer than the tests do.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torchwhy.commands import main

KNOWN_CODES = {0, 1, 2}
SLOWEST_SECONDS = 20.0  # of CPU time: a report of a whole run takes less than one
MOST_MEMORY = 3_000_000_000
ODD_VALUES: list[Any] = [
    *(None, True, 0, -1, 10**18, -(10**18), 10**30, 0.5, 1e308, -1e308),
    *(
        "",
        "x",
        "nan",
        "inf",
        "\x1b[31m\x9b31m\u202eabc",
        "\ud800",
        "/etc/passwd",
        "../../x",
        "a" * 5000,
    ),
    *([], {}, [[]], [None], {"": None}, [1] * 1000),
]
COMMANDS = (
    ("report", "{run}"),
    ("report", "{run}", "--checks"),
    ("report", "{run}", "-f", "json"),
    ("report", "{run}", "-f", "md"),
    ("report", "{run}", "-f", "sarif"),
    ("report", "{run}", "-f", "github"),
    ("report", "{run}", "-f", "junit"),
    ("fix", "--apply", "--yes", "--run", "{run}"),
    ("fix", "--apply", "--trust-run", "--run", "{run}"),
    ("fix", "--no-rerun", "--run", "{run}"),
    ("fix", "--run", "{run}"),
)


class TooSlow(BaseException):
    """A command took longer than a damaged file may make it."""


def damage(run: Path, chance: random.Random) -> str:
    """Damage one file of a run and return what was done."""
    everything = sorted(path for path in run.rglob("*") if _can_be_damaged(path))
    on_top = [path for path in everything if path.parent == run]
    path = chance.choice(on_top if on_top and chance.random() < 0.9 else everything)
    kinds = [_flip_bytes, _cut_off, _delete, _put_other_kind, _grow]
    kinds += [_replace_value] * 10 if path.suffix in (".json", ".jsonl") else []
    kinds += [_mix_lines] * 2 if path.suffix == ".jsonl" else []
    kind = chance.choice(kinds)
    kind(path, chance)
    return f"{kind.__name__} {path.relative_to(run)}"


def _can_be_damaged(path: Path) -> bool:
    return not path.is_symlink() and path.is_file() and path.stat().st_size < 1_000_000


def _flip_bytes(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes() or b" ")
    for _ in range(chance.choice((1, 3, 100))):
        content[chance.randrange(len(content))] = chance.randrange(256)
    path.write_bytes(content)


def _cut_off(path: Path, chance: random.Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: chance.randrange(len(content) + 1)])


def _mix_lines(path: Path, chance: random.Random) -> None:
    """Leave lines out, repeat them or change their order, as two writers of one file would."""
    lines = path.read_bytes().splitlines(keepends=True)
    for _ in range(chance.choice((1, 10, len(lines)))):
        if lines:
            line = lines.pop(chance.randrange(len(lines)))
            again = chance.choice((0, 1, 1, 2))
            for _ in range(again):
                lines.insert(chance.randrange(len(lines) + 1), line)
    path.write_bytes(b"".join(lines))


def _delete(path: Path, _: random.Random) -> None:
    path.unlink()


def _grow(path: Path, chance: random.Random) -> None:
    os.truncate(path, chance.choice((100_000, 8_000_000_000)))


def _put_other_kind(path: Path, chance: random.Random) -> None:
    path.unlink()
    kind = chance.randrange(5)
    if kind == 0:
        os.mkfifo(path)
    elif kind == 1:
        path.mkdir()
    else:
        path.symlink_to(("/dev/zero", path.name, "../../../precious.txt")[kind - 2])


def _replace_value(path: Path, chance: random.Random) -> None:
    """Replace a value anywhere in a JSON file, or in one line of a trace."""
    lines = path.read_text(encoding="utf8", errors="replace").splitlines() or [""]
    place = chance.randrange(len(lines)) if path.suffix == ".jsonl" else None
    text = "\n".join(lines) if place is None else lines[place]
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError):
        return
    slots = list(_slots(facts))
    if chance.random() < 0.05 or not slots:
        changed = "[" * 50_000 + "]" * 50_000
    else:
        holder, key = chance.choice(slots)
        action = chance.random()
        if action < 0.15 and isinstance(holder, dict):
            del holder[key]
        elif action < 0.3 and isinstance(holder[key], list):
            holder[key] = holder[key] * 3
        else:
            holder[key] = chance.choice(ODD_VALUES)
        changed = json.dumps(facts)
    if place is not None:
        lines[place] = changed
    path.write_text(changed if place is None else "\n".join(lines) + "\n", encoding="utf8")


def _slots(facts: Any) -> Iterator[tuple[Any, Any]]:
    keys = (
        facts if isinstance(facts, dict) else range(len(facts)) if isinstance(facts, list) else ()
    )
    for key in list(keys):
        yield facts, key
        yield from _slots(facts[key])


def ask(words: tuple[str, ...], run: Path) -> tuple[int, str]:
    """Run a command on a run directory; return its exit code and all it printed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _limited():
        code = main([word.replace("{run}", str(run)) for word in words])
    return code, out.getvalue() + err.getvalue()


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    waiting = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SLOWEST_SECONDS)
    signal.alarm(300)  # A read that waits for ever uses no CPU time.
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.alarm(0)
        signal.signal(signal.SIGVTALRM, before)
        signal.signal(signal.SIGALRM, waiting)


def outside(folder: Path) -> dict[str, bytes]:
    """Return the files that no command may change; `--apply --trust-run` may change the program."""
    return {
        str(path): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".torchwhy" not in path.parts and path.name != "train.py"
    }


def problems_with(code: int, shown: str) -> Iterator[str]:
    """Yield what is wrong with an answer."""
    if code not in KNOWN_CODES:
        yield f"exit code {code}"
    if "[internal-error]" in shown:
        yield "an internal error"
    if "Traceback (most recent call last)" in shown:
        yield "a traceback"
    if any((ord(sign) < 32 and sign not in "\n\t") or 127 <= ord(sign) < 160 for sign in shown):
        yield "a control character"
    if "\u202e" in shown:
        yield "a bidirectional character"
    if code == 2 and shown.rstrip().splitlines()[-1][-1:] != "]":
        yield "no slug"


@dataclass(frozen=True)
class Round:
    """A damaged run, the command that was asked about it, and what was wrong with the answer."""

    number: str
    command: tuple[str, ...]
    damage: list[str]
    code: int | None
    problems: list[str]
    seconds: float
    shown: str


def rounds(runs: list[Path], *, seed: int, count: int) -> Iterator[str]:
    """Yield a line for every damaged run that torchwhy does not answer as it should."""
    for one in tried(runs, seed=seed, count=count):
        if one.problems:
            yield (
                f"{one.number} {one.command[0]} {one.damage}: {one.problems}"
                f" ({one.seconds:.1f} s) {one.shown[-300:]}"
            )


def tried(runs: list[Path], *, seed: int, count: int) -> Iterator[Round]:
    """Damage a copy of a run and ask a command about it, as often as wanted."""
    for number in range(count):
        with tempfile.TemporaryDirectory() as folder:
            yield _round(runs, f"{seed}-{number}", Path(folder))


def _round(runs: list[Path], number: str, folder: Path) -> Round:
    chance = random.Random(number)
    original, home = chance.choice(runs), folder / "home"
    shutil.copytree(original.parents[2], home, symlinks=True)
    run = home / ".torchwhy" / "runs" / original.name
    _move(run, original.parents[2], home)
    if chance.random() < 0.5:  # The report is made again from the trace.
        (run / "report.json").unlink()
    done = [damage(run, chance) for _ in range(chance.choice((1, 1, 1, 2, 5)))]
    (home / "precious.txt").write_text("precious")
    before = outside(folder)
    words = chance.choice(COMMANDS)
    began, code, shown = time.process_time(), None, ""
    try:
        code, shown = ask(words, run)
        found = list(problems_with(code, shown))
    except BaseException as problem:
        found = [f"{type(problem).__name__}: {problem}"]
    if outside(folder) != before:
        found.append("a file outside the run directory was written")
    if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > MOST_MEMORY:
        found.append("too much memory")
    return Round(number, words, done, code, found, time.process_time() - began, shown)


def _move(run: Path, old: Path, new: Path) -> None:
    """Have a copied run name the copied program."""
    for path in run.glob("*.json"):
        path.write_text(
            path.read_text(encoding="utf8").replace(str(old), str(new)), encoding="utf8"
        )


def _main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args(arguments)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    failed = 0
    for line in rounds(options.runs, seed=options.seed, count=options.rounds):
        failed += 1
        print(ascii(line), flush=True)  # noqa: T201 - the answer of this command
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
