"""The verdict as a piece of HTML for the output of a notebook's cell.

All of it can be read without scripts, and its styles survive sanitising. A script adds the button that copies a change,
so that a front end that runs none shows no button.
"""

from __future__ import annotations

import re
from pathlib import Path

from torchwhy.errors import TorchwhyError
from torchwhy.record.run_file import known_secrets, read_traces
from torchwhy.report.model import Report
from torchwhy.report.page.page_builder import Setting, build_page
from torchwhy.report.page.page_model import Page
from torchwhy.report.page.page_render import environment_of, own_file, parts_of, trusted

FIXES_SHOWN = 2
# The line of a cell's magic, which is a string in the text that ran.
MAGIC_LINE = re.compile(r"^(\s*(?:[0-9]+ │ )?[ +-]?)'(%%torchwhy[^']*)'$", re.MULTILINE)


def fragment_of(report: Report, run_directory: Path, directory: Path) -> str:
    """Return the HTML of a report; without the traces of its run, the source lines are left out."""
    try:
        traces = read_traces(run_directory)
    except (TorchwhyError, OSError):
        traces = []
    return render_fragment(build_page(report, traces, Setting(directory, run_directory.name)))


def render_fragment(page: Page) -> str:
    """Return the HTML of a page's verdict."""
    environment = environment_of(known_secrets())
    environment.filters["as_typed"] = as_typed
    template = environment.get_template("fragment.html.j2")
    button = trusted(own_file("copy_button.js"))
    return template.render(page=page, parts=parts_of, most=FIXES_SHOWN, copy_button=button)


def as_typed(text: str) -> str:
    """Return lines of a cell as the user typed them."""
    return MAGIC_LINE.sub(r"\1\2", text)
