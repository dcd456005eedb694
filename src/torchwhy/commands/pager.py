"""Show rich text on a terminal, through the user's pager if it is longer than the screen, as git does."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable

from rich.console import Console, RenderableType
from rich.theme import Theme

from torchwhy.report.plain_report import fit_encoding

WIDEST = 100  # Longer lines of prose are hard to read.
# rich's own style has a black background, which stands out on a light terminal.
THEME = Theme({"markdown.code": "bold cyan"})
# As git sets them: end if it fits on a screen, keep colours, leave the text on the screen.
LESS_OPTIONS = "FRX"


def show(parts: Iterable[RenderableType]) -> None:
    """Print the parts to stdout, which must be a terminal."""
    screen = Console(file=sys.stdout)
    text = fit_encoding(rendered(parts, screen.width), sys.stdout.encoding)
    command = _pager() if text.count("\n") >= screen.height else []
    if not command or not _paged(command, text):
        sys.stdout.write(text)
        sys.stdout.flush()


def rendered(parts: Iterable[RenderableType], width: int) -> str:
    """Return the parts as text with escape codes."""
    buffer = io.StringIO()
    console = Console(
        file=buffer,
        force_terminal=True,
        width=min(width, WIDEST),
        highlight=False,
        markup=False,
        emoji=False,
        theme=THEME,
    )
    for part in parts:
        console.print(part)
    return "".join(f"{line.rstrip()}\n" for line in buffer.getvalue().splitlines())


def _pager() -> list[str]:
    """Return the user's pager and its arguments; empty if there is none or the user wants none."""
    if not sys.stdin.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        return []
    try:
        command = shlex.split(os.environ.get("PAGER", "less"))
    except ValueError:
        return []
    return command if command and shutil.which(command[0]) else []


def _paged(command: list[str], text: str) -> bool:
    """Run the pager and tell whether it started; the user may leave it early."""
    environment = {"LESS": LESS_OPTIONS, **os.environ}
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
    except OSError:
        return False
    with contextlib.suppress(BrokenPipeError):
        process.communicate(text.encode(sys.stdout.encoding or "utf8", errors="replace"))
    while process.poll() is None:
        with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C is for the pager.
            process.wait()
    return True
