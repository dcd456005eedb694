"""Asks before torchwhy runs a command or writes a change that somebody else may have recorded."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from pathlib import Path

from torchwhy.errors import UsageError
from torchwhy.printable import one_line
from torchwhy.record.run_file import Run, recorded_here
from torchwhy.record.secrets import MASK, masked_command

STRANGERS = (
    "You did not record this run here: it was copied, downloaded, or came with a repository."
)


def allow_command(
    run_directory: Path,
    run: Run,
    *,
    trusted: bool,
    question: str = "Run this command, once for each trial? [y/N] ",
    otherwise: str = "torchwhy fix --trust-run",
) -> None:
    """Show the command of a stranger's run and ask; raise `UsageError` unless the user agrees."""
    if trusted or recorded_here(run_directory, run):
        return
    print(
        f"{STRANGERS}\nIts command:    {_shown(run)}\nIn directory:   {one_line(run.directory)}",
        file=sys.stderr,
    )
    if _agreed(question, otherwise):
        return
    raise UsageError("the command of the run was not started.", slug="not-confirmed")


def may_write(run_directory: Path, run: Run, *, agreed: bool, trusted: bool) -> bool:
    """Ask whether to write the change that was just shown; `--yes` does not answer for a stranger's run."""
    foreign = not recorded_here(run_directory, run)
    if trusted or (agreed and not foreign):
        return True
    if not foreign:
        return _agreed("Write this change? [y/N] ", "torchwhy fix --apply --yes")
    print(f"{STRANGERS}\nRead the change before you let it into your source.")
    return _agreed("Write this change? [y/N] ", "torchwhy fix --apply --trust-run")


def check_place(run_directory: Path, run: Run) -> None:
    """Raise `UsageError` if a stranger's run names a directory other than the one it lies in or the current one."""
    if recorded_here(run_directory, run):
        return
    lies_in = run_directory.resolve().parents
    near = [Path.cwd(), *(folder for folder in lies_in if (folder / ".torchwhy").is_dir())]
    with suppress(OSError, RuntimeError):
        if any(Path(run.directory).resolve() == folder.resolve() for folder in near):
            return
    raise UsageError(
        f"you did not record this run here, and its change is to {run.directory}, which is neither the "
        "current directory nor the one that the run lies in.",
        slug="outside-project",
    )


def whole_command(run: Run) -> tuple[str, ...]:
    """Return the command with its secrets, which the user types again; raise `UsageError` without a terminal."""
    if not run.masked:
        return run.command
    if not sys.stdin.isatty():
        raise UsageError(
            f"the command has secrets that torchwhy does not store: `{_shown(run)}`. Give it again: "
            "`torchwhy fix PROGRAM ARGUMENTS` runs it and then tries fixes.",
            slug="masked-command",
        )
    import getpass

    print(f"torchwhy does not store secrets. The command was: {_shown(run)}", file=sys.stderr)
    words = list(run.command)
    for position in run.masked:
        for _ in range(words[position].count(MASK)):
            name = one_line(" ".join(words[max(0, position - 1) : position + 1]))
            value = getpass.getpass(f"{MASK} in `{name}`: ")
            words[position] = words[position].replace(MASK, value, 1)
    return tuple(words)


def _shown(run: Run) -> str:
    return one_line(shlex.join(masked_command(run.command)))


def _agreed(question: str, otherwise: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(
            f"cannot ask for confirmation without a terminal: `{otherwise}` agrees beforehand.",
            slug="not-confirmed",
        )
    with suppress(EOFError):
        return input(question).strip().lower() in ("y", "yes")
    return False
