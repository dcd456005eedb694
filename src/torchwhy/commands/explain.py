"""Print the manual page of a cause; without a name, the list of all causes."""

from __future__ import annotations

import argparse
import sys
from difflib import get_close_matches

from torchwhy.errors import UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="as in a report: log-of-nonpositive"
    )


def execute(options: argparse.Namespace) -> int:
    """Print the page, or the list, on stdout."""
    from torchwhy.detect.registry import all_detectors

    detectors = all_detectors()
    if options.name is None:
        width = max(map(len, detectors), default=0)
        for name, detector in detectors.items():
            print(f"{name:<{width}}  {detector.manual().summary}")
        return 0
    if options.name not in detectors:
        raise UsageError(_unknown(options.name, list(detectors)), slug="unknown-detector")
    _print_page(detectors[options.name].manual().text.rstrip())
    return 0


def _unknown(name: str, names: list[str]) -> str:
    words = {word for word in name.lower().replace("_", "-").split("-") if len(word) > 2}
    near = get_close_matches(name, names, n=3) or [
        one for one in names if words & set(one.split("-"))
    ]
    hint = f"did you mean {' or '.join(near[:3])}?" if near else "`torchwhy explain` lists all."
    return f"no cause is named {name!r}: {hint}"


def _print_page(page: str) -> None:
    if not sys.stdout.isatty():
        print(page)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(page))
