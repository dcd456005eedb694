"""Reads the traceback that a loader's worker process sent as text."""

from __future__ import annotations

import linecache
import re

from torchwhy.finding import SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.source.files import layer_of, shown_path

HEADER = re.compile(r"^Caught (?P<type>[\w.]+) in (?:DataLoader worker process|pin memory thread)")
FRAME = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+), in (?P<function>.+)$')
MARKS = re.compile(r"^\s*[\^~]+\s*$")


@dataclass(frozen=True)
class WorkerError:
    """An exception of a worker: `location` is the innermost line of the user's code, None if there is none."""

    type: str
    message: str
    location: SourceSpan | None
    traceback: str


def read(text: str) -> WorkerError | None:
    """Read the message of an exception that a worker sent; None for any other message."""
    header = HEADER.match(text)
    if header is None:
        return None
    lines = text.splitlines()
    location, last = None, 0
    for number, line in enumerate(lines):
        frame = FRAME.match(line)
        if frame is None:
            continue
        last = number
        if layer_of(frame["file"]) == "user":
            location = _span(frame, lines[number + 1 : number + 3])
    return WorkerError(
        header["type"].rpartition(".")[2], _message(lines[last + 1 :]), location, text
    )


def _message(after_last_frame: list[str]) -> str:
    """Return what follows the source lines of the last frame, without the exception's name."""
    rest = list(after_last_frame)
    while rest and (rest[0].startswith("    ") or not rest[0].strip()):
        rest.pop(0)
    text = "\n".join(rest).strip()
    name, colon, message = text.partition(": ")
    return message if colon and re.fullmatch(r"[\w.]+", name) else text


def _span(frame: re.Match[str], following: list[str]) -> SourceSpan:
    """Return the place; the columns come from the marks that Python draws under the line."""
    filename, line = frame["file"], int(frame["line"])
    text = linecache.getline(filename, line)
    indent = len(text) - len(text.lstrip())
    start, end = indent, len(text.rstrip())
    if len(following) > 1 and MARKS.match(following[1]):
        marks = following[1]
        start = indent + len(marks) - len(marks.lstrip()) - 4
        end = start + len(marks.strip())
    return SourceSpan(
        file=shown_path(filename),
        line=line,
        end_line=line,
        column=start,
        end_column=end,
        function=frame["function"],
        expression=text[start:end] or None,
    )
