"""Rehearse a training program and put to it, by experiment, the questions that an expert would put.

The program is given as to `torchwhy run`. It runs unchanged for up to 200 steps in scratch folders: none of your files
is written, what it does over the network is repeated. Then torchwhy experiments with copies of its training steps, and
starts it again with other seeds and, if it saves and loads checkpoints, from its own checkpoint. The checklist goes to
stdout, the report and all traces to .torchwhy/runs/; `torchwhy report --checks` shows it again.

The exit code is 0 whatever is found; 65 if --fail-on applies; 2 if the program cannot be started.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from torchwhy.commands import run as running
from torchwhy.commands.guidance.allow_option import check_allowed
from torchwhy.commands.guidance.option_types import positive
from torchwhy.commands.guidance.program_check import check_program
from torchwhy.observe.ending_signals import ending
from torchwhy.report.page.page_file import check_folder

if TYPE_CHECKING:
    from torchwhy.report.model import Report

DEFAULT_LIMIT_SECONDS = 120.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.usage = "torchwhy check [options] PROGRAM [arguments of the program]"
    running.add_output_options(parser)
    parser.add_argument(
        "--limit",
        metavar="SECONDS",
        type=positive,
        default=DEFAULT_LIMIT_SECONDS,
        help="how long all runs together may take (default: 120)",
    )
    parser.add_argument(
        "--fail-on",
        choices=tuple(running.LEVELS),
        help="exit with 65 if there is a finding this severe; an answer that is not fine counts as a warning",
    )


def split(words: list[str], parser: argparse.ArgumentParser) -> tuple[list[str], list[str]]:
    """Return the own options, and the program with its arguments."""
    return running.split(words, parser)


def execute(options: argparse.Namespace) -> int:
    """Check the program and print the checklist; return the exit code."""
    check_program(options.program)
    running.check_json(options.json)
    check_folder("--html", options.html)
    check_allowed(options.allow)
    from torchwhy.commands.checking import check

    report, run_directory = check(
        options.program,
        limit_seconds=options.limit,
        stream=sys.stdout,
        keeps_data=not options.no_data,
        allow=options.allow,
    )
    if options.json is not None:
        running.write_copy(report, options.json)
    if options.html is not None:
        running.write_page(run_directory, report, options)
    if ending.received is not None:
        ending.exit_by = ending.received
    return running.FAIL_ON_CODE if fails(report, options.fail_on) else 0


def fails(report: Report, level: str | None) -> bool:
    """Tell whether a report is bad enough for `--fail-on`."""
    if level is None:
        return False
    denied = level == "warning" and any(one.answer == "no" for one in report.checks)
    return denied or report.outcome in running.LEVELS[level]
