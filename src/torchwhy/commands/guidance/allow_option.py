"""`--allow`: names of causes to silence, everywhere or in some files."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from torchwhy.commands.guidance.suggestions import did_you_mean
from torchwhy.errors import UsageError


def add_allow_option(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        "--allow",
        metavar="NAME",
        action="append",
        default=[],
        help="silence a cause: NAME everywhere, NAME@FILE in a file (or pattern), NAME@FILE:LINE in one line; "
        "can be given several times. A comment `# torchwhy: allow NAME` on the line does the same",
    )


def check_allowed(words: Sequence[str]) -> None:
    """Raise `UsageError` for a name that is no cause: a misspelt one would silence nothing."""
    if not words:
        return
    from torchwhy.detect.allowances import parsed
    from torchwhy.detect.registry import all_detectors

    causes = all_detectors()
    for word in words:
        name = parsed(word).name
        if name not in causes:
            near = did_you_mean(name, causes) or "; `torchwhy explain` lists all causes."
            raise UsageError(
                f"--allow {word}: no cause is named {name!r}{near}", slug="unknown-detector"
            )
