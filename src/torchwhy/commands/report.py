"""Show the report of a recorded run again; without a name, that of the last run here.

RUN is a directory under .torchwhy/runs, its name, the beginning or end of its name, or a script: then it is the last
run of that script. `torchwhy runs` lists them. `-f html` makes a page: one
file that needs no network, by default report.html in the directory of the run.

A job on several machines has a folder for each. `torchwhy report DIR DIR …`, or the folder of `torchwhy run --run-dir`,
gives one report of all its ranks.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from torchwhy.commands.guidance.allow_option import add_allow_option, check_allowed
from torchwhy.commands.history.node_folders import NodeFolders, node_folders
from torchwhy.commands.history.recorded_runs import find_run
from torchwhy.errors import UsageError
from torchwhy.printable import printable
from torchwhy.record.run_file import Run
from torchwhy.record.secrets import masked_command
from torchwhy.report.page.page_file import check_folder, page_of, store_page, write_output

if TYPE_CHECKING:
    from torchwhy.report.model import Report

MACHINE_FORMATS = ("md", "sarif", "github", "junit")
FORMATS = ("text", "json", "html", *MACHINE_FORMATS)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument(
        "run",
        metavar="RUN",
        nargs="*",
        help="which run (default: the last); several folders, or one that holds them, are the machines of one job",
    )
    parser.add_argument(
        "-f",
        "--format",
        choices=FORMATS,
        default="text",
        help="text (default); json, html; md for a pull request; sarif, github (annotations) or junit for CI",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="write the report to FILE (- for stdout)"
    )
    parser.add_argument(
        "--no-data", action="store_true", help="leave the values of the data out of the page"
    )
    add_allow_option(parser)
    parser.add_argument(
        "--checks",
        action="store_true",
        help="list the questions that the run was asked: fine, not fine, or why one could not be asked",
    )


def execute(options: argparse.Namespace) -> int:
    """Print the report, or write it to a file."""
    from torchwhy.pipeline import diagnose, load
    from torchwhy.record.run_file import read_run

    check_folder("-o", options.output)
    if options.checks and options.format in MACHINE_FORMATS:
        raise UsageError("--checks goes with text and json.", slug="wrong-option")
    check_allowed(options.allow)
    nodes = node_folders(options.run)
    if nodes is not None:
        directory, report = _joint_report(nodes, options)
    else:
        directory = find_run(next(iter(options.run), None))
        report = load(directory)
        if options.allow:
            report = report.without_allowed(diagnose(directory, allow=options.allow))
        if options.checks and not report.checks:  # written by an older version
            report = diagnose(directory)
    run = read_run(directory)
    if options.format == "html" and not options.checks:
        return _write_page(directory, report, options)
    if options.format in MACHINE_FORMATS:
        write_output(_rendered(run, report, options.format), options.output or Path("-"))
        return 0
    buffer = None if options.output is None else io.StringIO()
    stream = sys.stdout if buffer is None else buffer
    if options.format == "json":
        import json

        facts = report.to_json()
        shown = facts["checks"] if options.checks else facts
        print(json.dumps(shown, indent=1, allow_nan=False), file=stream)
    elif options.checks:
        from torchwhy.report.text.terminal import show_checks

        show_checks(report, stream, of="" if run.rehearsal_steps is None else _check_of(run))
    else:
        from torchwhy.report.text.terminal import Place, show

        stored = None if nodes is not None else Path(os.path.relpath(directory))
        show(report, Place(stored, Path(run.directory)), stream)
    if buffer is not None:
        write_output(buffer.getvalue(), options.output)
    return 0


def _joint_report(nodes: NodeFolders, options: argparse.Namespace) -> tuple[Path, Report]:
    """Return the folder of the first machine, and the report of all machines."""
    from torchwhy.pipeline import diagnose_nodes

    if options.format == "html" and not options.checks:
        raise UsageError("-f html makes a page of one folder.", slug="wrong-option")
    return nodes.found[0], diagnose_nodes(nodes.found, nodes.problems, allow=options.allow)


def _write_page(directory: Path, report: Report, options: argparse.Namespace) -> int:
    text = page_of(directory, report, shows_data=not options.no_data)
    if options.output is not None:
        write_output(text, options.output)
    else:
        print(os.path.relpath(store_page(directory, text)))
    return 0


def _rendered(run: Run, report: Report, form: str) -> str:
    from torchwhy import __version__
    from torchwhy.detect.registry import all_detectors
    from torchwhy.report.formats.renderers import RENDERERS
    from torchwhy.report.formats.told import Setting

    causes = all_detectors()
    found = {finding.detector for finding in report.findings} & set(causes)
    directory = Path(run.directory)
    setting = Setting(
        directory,
        checkout_of(directory),
        version=__version__,
        summaries={name: causes[name].manual().summary for name in found},
    )
    return RENDERERS[form](report, setting)


def checkout_of(directory: Path) -> Path:
    """Return the checkout that GitHub Actions works in, if the run took place in it, else the run's own directory."""
    workspace = os.environ.get("GITHUB_WORKSPACE")
    if workspace and directory.is_relative_to(workspace):
        return Path(workspace)
    return directory


def _check_of(run: Run) -> str:
    return f"check {name_of(masked_command(run.command))}"


def name_of(command: Sequence[str]) -> str:
    """Return a program as one speaks of it: `train.py`, `-m package.train`."""
    return printable(" ".join(command[:2]) if command[0] in ("-m", "-c") else command[0])
