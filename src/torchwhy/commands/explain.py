"""Print the manual page of a cause, or the causes that match some words; without a word, list all causes.

torchwhy explain log-of-nonpositive          the page: what, why, fix, programs that show it
torchwhy explain nan                         the causes that involve NaN
torchwhy explain mat1 and mat2 shapes        the causes of an error message
"""

from __future__ import annotations

import argparse
import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING

from torchwhy.errors import UsageError

if TYPE_CHECKING:
    from torchwhy.detect.base import Detector

ALMOST_A_NAME = 0.85  # From this similarity on, a query is a name with a typo.
LAST_LINE = "`torchwhy explain NAME` prints a page, `torchwhy explain WORD` searches them."


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument(
        "words",
        metavar="WORD",
        nargs="*",
        help="the name of a cause as in a report, or words to search for, such as an error message",
    )


def execute(options: argparse.Namespace) -> int:
    """Print the page, the matches or the list to stdout."""
    from torchwhy.detect.hangs.hang_pages import hang_pages
    from torchwhy.detect.registry import all_detectors

    causes = all_detectors()
    query = " ".join(options.words).strip()
    name = "-".join(query.lower().replace("_", " ").split())
    if name in causes:
        _print_page(causes[name])
    elif name in hang_pages():
        print(hang_pages()[name].read_text().rstrip())
    elif query:
        _print_list(_matches(query, causes))
    else:
        _print_list(_in_order_of_groups(causes))
    return 0


def _in_order_of_groups(causes: dict[str, type[Detector]]) -> dict[str, type[Detector]]:
    from torchwhy.detect.manuals.symptoms import TITLES

    order = list(TITLES)
    return dict(sorted(causes.items(), key=lambda item: order.index(item[1].shows_as())))


def _matches(query: str, causes: dict[str, type[Detector]]) -> dict[str, type[Detector]]:
    from torchwhy.detect.manuals.search import Entry, search
    from torchwhy.detect.manuals.symptoms import TITLES

    near = get_close_matches(query.lower().replace("_", "-"), causes, n=3, cutoff=ALMOST_A_NAME)
    if near:
        raise UsageError(
            f"no cause is named {query!r}: did you mean {' or '.join(near)}?",
            slug="unknown-detector",
        )
    entries = {
        name: Entry(cause.manual(), TITLES[cause.shows_as()]) for name, cause in causes.items()
    }
    found = search(query, entries)
    if not found:
        raise UsageError(
            f"no cause is named {query!r} and no manual page matches it; `torchwhy explain` lists all causes.",
            slug="unknown-detector",
        )
    return {name: causes[name] for name in found}


def _print_page(cause: type[Detector]) -> None:
    from torchwhy.detect.manuals.symptoms import TITLES

    if not sys.stdout.isatty():
        print(cause.manual().text.rstrip())
        return
    from torchwhy.commands.manual_screen import page_parts
    from torchwhy.commands.pager import show

    show(page_parts(cause.manual(), TITLES[cause.shows_as()]))


def _print_list(causes: dict[str, type[Detector]]) -> None:
    groups = _grouped(causes)
    if sys.stdout.isatty():
        from torchwhy.commands.manual_screen import list_parts
        from torchwhy.commands.pager import show

        show(list_parts(groups, LAST_LINE))
        return
    width = max(map(len, causes))
    for title, rows in groups.items():
        print(f"## {title}\n")
        for name, summary in rows:
            print(f"{name:<{width}}  {summary}")
        print()
    print(LAST_LINE)


def _grouped(causes: dict[str, type[Detector]]) -> dict[str, list[tuple[str, str]]]:
    """Return name and summary of each cause under the title of its group, in the given order."""
    from torchwhy.detect.manuals.symptoms import TITLES

    groups: dict[str, list[tuple[str, str]]] = {}
    for name, cause in causes.items():
        groups.setdefault(TITLES[cause.shows_as()], []).append((name, cause.manual().summary))
    return groups
