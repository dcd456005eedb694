"""Makes the page of a run and writes it where the user wants it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from torchwhy.errors import UsageError
from torchwhy.record.run_file import read_run, read_traces
from torchwhy.record.run_folder import replace_file

if TYPE_CHECKING:
    from torchwhy.report.model import Report

PAGE_NAME = "report.html"


def page_of(run_directory: Path, report: Report, *, shows_data: bool = True) -> str:
    """Return the page of a recorded run as HTML."""
    from torchwhy.report.page.page_builder import Setting, build_page
    from torchwhy.report.page.page_render import render

    run = read_run(run_directory)
    setting = Setting(
        Path(run.directory), run_directory.name, shows_data=shows_data and run.keeps_data
    )
    return render(build_page(report, read_traces(run_directory), setting))


def check_folder(option: str, path: Path | None) -> None:
    """Raise `UsageError` if a file that the user named is in no directory."""
    if path is not None and not path.absolute().parent.is_dir():
        raise UsageError(
            f"{option} {path}: there is no directory {path.absolute().parent}.",
            slug="cannot-write-report",
        )


def write_output(text: str, path: Path) -> None:
    """Write a report to a file that the user named; `-` is the standard output."""
    if str(path) == "-":
        sys.stdout.write(text)
        return
    try:
        path.write_text(text, encoding="utf8")
    except OSError as problem:
        raise UsageError(
            f"{path} cannot be written: {problem.strerror or problem}.", slug="cannot-write-report"
        ) from problem


def store_page(run_directory: Path, text: str) -> Path:
    """Write the page into the run directory, and return its path."""
    path = run_directory / PAGE_NAME
    replace_file(path, text)
    return path
