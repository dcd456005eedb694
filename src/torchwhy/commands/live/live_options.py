"""The options of `torchwhy run` about what is told while the program runs."""

from __future__ import annotations

import argparse
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from subprocess import Popen

from torchwhy.commands.guidance.option_types import seconds_or_never
from torchwhy.errors import UsageError
from torchwhy.follow.follower import Follower, Wishes
from torchwhy.follow.hangs.hang_watch import HangWatch, HangWishes
from torchwhy.observe.launch import run_in_foreground
from torchwhy.printable import one_line
from torchwhy.record.run_file import Run, write_run

HANG_SECONDS = 60.0  # Most validations and checkpoints take less.


def add_live_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this file."""
    parser.add_argument(
        "--on-finding",
        choices=("tell", "stop"),
        default="tell",
        help="at an error that is certain while the program runs: tell it in one line (default), or also end "
        "the program as Ctrl-C does and exit with 1",
    )
    add_hang_options(parser)
    parser.add_argument(
        "--notify",
        metavar="CMD",
        type=command_words,
        default=[],
        help="also run this command then, without a shell, with the finding as JSON on its standard input",
    )


def add_hang_options(parser: argparse.ArgumentParser) -> None:
    """Add the options about a program that makes no more steps."""
    parser.add_argument(
        "--hang",
        metavar="SECONDS",
        type=seconds_or_never,
        default=HANG_SECONDS,
        help="if no process makes a step for this long, or for 20 usual steps if they take longer, tell where each "
        "one stands (default: 60; 0 = never; Linux only)",
    )
    parser.add_argument(
        "--on-hang",
        choices=("tell", "stop"),
        default="tell",
        help="at such a standstill: tell it (default), or also end the program and exit with 1, unless a process "
        "works or waits for input",
    )


def command_words(command: str) -> list[str]:
    """Return the words of the command of `--notify`; raise `UsageError` for one that cannot be started."""
    try:
        words = shlex.split(command)
    except ValueError as problem:
        raise UsageError(f"--notify {one_line(command)}: {problem}.", slug="wrong-option") from None
    if not words:
        raise UsageError("--notify needs a command.", slug="wrong-option")
    if shutil.which(words[0]) is None:
        raise UsageError(
            f"--notify: there is no command named {words[0]!r}.", slug="no-such-program"
        )
    return words


def run_and_follow(
    run_directory: Path, run: Run, options: argparse.Namespace
) -> tuple[Run, Follower]:
    """Run the program, and look into it meanwhile; return the run, ended, and who looked."""
    wishes = Wishes(options.on_finding, tuple(options.notify), quiet=options.quiet)
    follower = Follower(run_directory, run, wishes)
    hangs = HangWatch(
        run_directory, run, HangWishes(options.hang, options.on_hang, quiet=options.quiet)
    )

    @contextmanager
    def beside(child: Popen[bytes]) -> Iterator[None]:
        with follower.beside(child), hangs.beside(child):
            yield

    run = run_in_foreground(run_directory, run, beside=beside)
    if hangs.stopped_step is not None:
        run = replace(run, stopped_step=hangs.stopped_step, stopped_for="hang")
        write_run(run_directory, run)
    elif follower.stopped_step is not None:
        run = replace(run, stopped_step=follower.stopped_step)
        write_run(run_directory, run)
    return run, follower
