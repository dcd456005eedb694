"""Run the commands that a page shows, and put what they print below them.

A ```python title="train.py"``` block is a file of the reader's folder, and a ```console``` block holds commands after
`$ `. In the site each command is followed by its real output, made in a folder of its own when the site is built. In
the repository the same page shows the commands alone. Words after `console`: `finds="NAME"` and `says="WORDS"` make the
build fail if the output does not name that cause or lacks these words; `from` and `until` cut it to the lines between
two beginnings; `copies="FILE"` first copies a file of the repository into the folder.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path

from tools.docs.markdown import FENCE, fence
from tools.docs.places import ROOT

TITLE = re.compile(r'title="([\w./-]+)"')
FINDS = re.compile(r'finds="([\w-]+)"')
SAYS = re.compile(r'says="([^"]+)"')
COPIES = re.compile(r'copies="([\w./-]+)"')
FROM = re.compile(r'from="([^"]+)"')
UNTIL = re.compile(r'until="([^"]+)"')
CUT = "…"
COLUMNS = "88"
LIMIT_SECONDS = 600
LIBRARIES = sysconfig.get_path("purelib")
RUN_ID = re.compile(r"\b\d{8}T\d{6}Z-([\w-]+?)-[0-9a-f]{4,}\b")

Runner = Callable[[str, Path], str]


class WrongOutputError(Exception):
    """A page promises what its commands do not print."""


def fill_consoles(text: str, *, page: str, run: Runner) -> str:
    """Return a page with the output of its commands."""
    if "```console" not in text:
        return text
    with tempfile.TemporaryDirectory(prefix="torchwhy-docs-") as name:
        folder = Path(name).resolve() / "project"
        folder.mkdir()
        return FENCE.sub(lambda found: _filled(found, folder, page=page, run=run), text)


def _filled(block: re.Match[str], folder: Path, *, page: str, run: Runner) -> str:
    info, body = block["info"], block["body"]
    title = TITLE.search(info)
    if title and not info.startswith("console"):
        path = folder / title[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body, encoding="utf8")
        return block[0]
    if not info.startswith("console"):
        return block[0]
    if copied := COPIES.search(info):
        (folder / Path(copied[1]).name).write_bytes((ROOT / copied[1]).read_bytes())
    commands = [line for line in body.splitlines() if line.startswith("$ ")]
    outputs = [run(line.removeprefix("$ "), folder) for line in commands]
    if run is run_command:
        _hold_promises(info, "\n".join(outputs), page)
    shown = [
        f"{command}\n{_between(printed, FROM.search(info), UNTIL.search(info))}"
        for command, printed in zip(commands, outputs, strict=True)
    ]
    return fence("\n\n".join(shown), "report")


def _hold_promises(info: str, output: str, page: str) -> None:
    promised = [f"[{one}]" for one in FINDS.findall(info)] + SAYS.findall(info)
    for words in promised:
        if words not in " ".join(output.split()):
            raise WrongOutputError(f"{page} promises {words!r}, but the output is:\n{output}")


def _between(output: str, start: re.Match[str] | None, end: re.Match[str] | None) -> str:
    """Return the lines of an output from one beginning to another, with a sign for what was cut."""
    lines = RUN_ID.sub(r"20260131T120000Z-\1-4f3a", output).rstrip().split("\n")
    first = _place(lines, start, 0)
    last = _place(lines, end, len(lines), after=first)
    return "\n".join([*[CUT][: first > 0], *lines[first:last], *[CUT][: last < len(lines)]])


def _place(lines: list[str], mark: re.Match[str] | None, default: int, *, after: int = 0) -> int:
    if mark is None:
        return default
    return next(
        (n for n, line in enumerate(lines) if n >= after and line.startswith(mark[1])), default
    )


def run_command(command: str, folder: Path) -> str:
    """Return what a command prints in a folder, as on a terminal of 88 columns without colours."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": COLUMNS,
        "OMP_NUM_THREADS": "1",
        "NO_COLOR": "1",
        "HOME": str(folder.parent),
    }
    ended = subprocess.run(
        shlex.split(command),
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=LIMIT_SECONDS,
        check=False,
        text=True,
    )
    return ended.stdout.replace(str(folder), "/home/me/project").replace(LIBRARIES, "site-packages")


def leave_out(_command: str, _folder: Path) -> str:
    """Run nothing, for a quick build."""
    return "(the output is made when the site is built)\n"
