"""The verdict as a piece of HTML for the output of a notebook's cell: no script, and styles that survive sanitising."""

from __future__ import annotations

from pathlib import Path

from torchwhy.errors import TorchwhyError
from torchwhy.record.run_file import known_secrets, read_traces
from torchwhy.report.model import Report
from torchwhy.report.page.page_builder import Setting, build_page
from torchwhy.report.page.page_model import Page
from torchwhy.report.page.page_render import environment_of, parts_of

FIXES_SHOWN = 2


def fragment_of(report: Report, run_directory: Path, directory: Path) -> str:
    """Return the HTML of a report; without the traces of its run, the source lines are left out."""
    try:
        traces = read_traces(run_directory)
    except (TorchwhyError, OSError):
        traces = []
    return render_fragment(build_page(report, traces, Setting(directory, run_directory.name)))


def render_fragment(page: Page) -> str:
    """Return the HTML of a page's verdict."""
    template = environment_of(known_secrets()).get_template("fragment.html.j2")
    return template.render(page=page, parts=parts_of, most=FIXES_SHOWN)
