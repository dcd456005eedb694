"""Places in a report that open in an editor by a click (OSC 8), in terminals that are known to have such links."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO
from urllib.parse import quote

# `TERM_PROGRAM` of terminals with links; the others are told by a variable or a terminal type of their own.
PROGRAMS = {"vscode", "iTerm.app", "WezTerm", "ghostty", "Hyper", "Tabby", "rio", "WarpTerminal"}
VARIABLES = ("WT_SESSION", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "DOMTERM")
TYPES = {"xterm-kitty", "xterm-ghostty", "alacritty", "foot", "foot-extra", "contour", "wezterm"}
OLDEST_VTE = 5000  # GNOME Terminal and its relatives; earlier ones crash or print the link


def has_links(stream: IO[str], environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether links can be written to a stream; `FORCE_HYPERLINK` decides for a terminal that is not known."""
    kind = environment.get("TERM", "")
    if not stream.isatty() or environment.get("NO_COLOR") or kind in ("", "dumb"):
        return False
    forced = environment.get("FORCE_HYPERLINK")
    if forced is not None:
        return forced != "0"
    if environment.get("CI") or kind.startswith(("screen", "tmux")):
        return False
    program = environment.get("TERM_PROGRAM")
    if "SSH_CONNECTION" in environment and program != "vscode":
        return False  # The terminal would look for the file on another machine.
    vte = environment.get("VTE_VERSION", "")
    return (
        program in PROGRAMS
        or kind in TYPES
        or any(name in environment for name in VARIABLES)
        or (vte.isdecimal() and int(vte) >= OLDEST_VTE)
    )


def link_to(
    path: Path, line: int | None = None, environment: Mapping[str, str] = os.environ
) -> str:
    """Return the address of a file, with its line where the terminal is known to understand that."""
    name = os.path.abspath(path)  # noqa: PTH100 - as the program names it, links not resolved
    whole = quote(name, errors="replace")  # A strange name may hold what has no bytes.
    if line is None or line < 1:
        return f"file://{whole}"
    if environment.get("TERM_PROGRAM") == "vscode":
        return f"vscode://file{whole}:{line}"
    return f"file://{whole}#{line}" if "KITTY_WINDOW_ID" in environment else f"file://{whole}"
