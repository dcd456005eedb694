"""Diffs → edited texts. A diff applies exactly at its lines, or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from torchwhy.errors import TorchwhyError, TraceError
from torchwhy.finding import Finding
from torchwhy.record.events import ProgramFile
from torchwhy.record.run_file import trace_files
from torchwhy.record.run_folder import read_bounded, read_json, replace_file
from torchwhy.record.trace import read_events
from torchwhy.source.edits import diff_between
from torchwhy.source.files import digest
from torchwhy.source.text import split_lines
from torchwhy.source.unified_diff import Hunk, changed_files

SOURCES_FILE = "sources.json"
LARGEST_SOURCE = 10_000_000  # bytes


class EditError(TorchwhyError):
    """A change cannot be made, because the file differs from the one that the diff was made for."""


def apply(text: str, hunks: Iterable[Hunk], *, file: str) -> str:
    """Return the text with all hunks applied; raise `EditError` if one does not match at its line."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [line.rstrip("\r\n") for line in split_lines(text)]
    for hunk in sorted(hunks, key=lambda one: one.line, reverse=True):
        start = hunk.line - 1
        end = start + len(hunk.before)
        if [line.rstrip() for line in lines[start:end]] != [line.rstrip() for line in hunk.before]:
            raise EditError(
                f"{file} has changed since the run: line {hunk.line} is not the one that the change was "
                "made for. Run the program under torchwhy again.",
                slug="source-changed",
            )
        lines[start:end] = hunk.after
    ended = text.endswith(("\n", "\r")) or not text
    return newline.join(lines) + (newline if ended and lines else "")


def edited_texts(
    diff: str, directory: Path, texts: Mapping[Path, str] | None = None
) -> dict[Path, str]:
    """Return the new text of every file that a diff changes, by absolute path; `texts` are earlier edits."""
    edited = dict(texts or {})
    for name, hunks in changed_files(diff).items():
        path = find(name, directory)
        edited[path] = apply(edited.get(path) or read(path), hunks, file=name)
    return edited


def joined(diffs: Iterable[str], directory: Path) -> str:
    """Return one diff that makes several changes, each based on the ones before it."""
    texts: dict[Path, str] = {}
    names: dict[Path, str] = {}
    for diff in diffs:
        names |= {find(name, directory): name for name in changed_files(diff)}
        texts = edited_texts(diff, directory, texts)
    return "".join(diff_between(names[path], read(path), text) for path, text in texts.items())


def find(name: str, directory: Path) -> Path:
    """Return the absolute path of a file that a diff names."""
    for candidate in (directory / name, Path("/") / name):
        with suppress(OSError, ValueError):  # a loop of links, a name that no file has
            if candidate.is_file():
                return candidate
    raise EditError(f"{name} no longer exists.", slug="source-changed")


def read(path: Path) -> str:
    """Return the text of a source file with its own line endings."""
    try:
        return content_of(path).decode("utf8")
    except UnicodeDecodeError as problem:
        raise EditError(
            f"{path} cannot be read as UTF-8 text: {problem}.", slug="source-changed"
        ) from problem


def content_of(path: Path) -> bytes:
    """Return the bytes of a source file; raise `EditError` if it is not a regular file of ordinary size."""
    try:
        return read_bounded(path.resolve(), LARGEST_SOURCE)
    except (OSError, RuntimeError, TraceError) as problem:
        why = problem.message if isinstance(problem, TraceError) else f"{path}: {problem}"
        raise EditError(why, slug="source-changed") from problem


def write_all(texts: Mapping[Path, str]) -> None:
    """Write files atomically: each is the old or the new one at every moment."""
    prepared: list[tuple[Path, Path]] = []
    try:
        for path, text in texts.items():
            real = path.resolve()
            handle, name = tempfile.mkstemp(prefix=f".{real.name}.", dir=real.parent)
            prepared.append((Path(name), real))
            with os.fdopen(handle, "w", encoding="utf8", newline="") as file:
                file.write(text)
            Path(name).chmod(real.stat().st_mode & 0o7777)
        for unfinished, real in prepared:
            unfinished.replace(real)
    except OSError as problem:
        raise EditError(
            f"cannot write the change: {problem.strerror}; no file is half written.",
            slug="cannot-apply",
        ) from problem
    finally:
        for unfinished, _ in prepared:
            with suppress(OSError):
                unfinished.unlink()


def record_sources(run_directory: Path, findings: Iterable[Finding], directory: Path) -> None:
    """Store the hashes of the files with findings as they ran, so that `check_unchanged` notices a later edit.

    If the text of a file is not in the trace, its current hash counts. Hashes stored earlier stay.
    """
    known = recorded_sources(run_directory)
    ran = _hashes_in_traces(run_directory)
    for name in sorted({name for finding in findings for name in _files_of(finding)} - set(known)):
        with suppress(OSError, EditError):
            known[name] = ran.get(name) or digest(content_of(directory / name))
    replace_file(run_directory / SOURCES_FILE, json.dumps(known, indent=1) + "\n")


def _hashes_in_traces(run_directory: Path) -> dict[str, str]:
    return {
        event.file: event.sha256
        for path in trace_files(run_directory)
        for event in read_events(path)
        if isinstance(event, ProgramFile)
    }


def _files_of(finding: Finding) -> Iterable[str]:
    spans = [finding.location, *(evidence.location for evidence in finding.evidence)]
    yield from (span.file for span in spans if span is not None)
    for fix in finding.fixes:
        yield from changed_files(fix.diff)


def recorded_sources(run_directory: Path) -> dict[str, str]:
    """Return the hashes of the files as they ran, by name."""
    try:
        known = read_json(run_directory / SOURCES_FILE)
    except FileNotFoundError:
        return {}
    if not isinstance(known, dict) or not all(isinstance(one, str) for one in known.values()):
        raise TraceError(
            f"{run_directory / SOURCES_FILE} is no list of files and their hashes.",
            slug="unreadable-trace",
        )
    return known


def check_unchanged(run_directory: Path, names: Iterable[str], directory: Path) -> None:
    """Raise `EditError` if one of the files has changed since the run."""
    known = recorded_sources(run_directory)
    for name in names:
        path = find(name, directory)
        if name in known and known[name] != digest(content_of(path)):
            raise EditError(
                f"{name} has changed since the run. Run the program under torchwhy again to get a fix "
                "for the current file.",
                slug="source-changed",
            )


def check_confined(run_directory: Path, names: Iterable[str], directory: Path) -> None:
    """Raise `EditError` unless all files are sources of the run that lie in its directory, links resolved."""
    known = recorded_sources(run_directory)
    root = directory.resolve()
    for name in names:
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise _outside(name, root)
        path = find(name, root)
        if not path.resolve().is_relative_to(root):
            raise _outside(name, root)
        if name not in known:
            raise EditError(
                f"{name} is not among the sources that the run has recorded; torchwhy does not change it.",
                slug="unknown-source",
            )


def _outside(name: str, root: Path) -> EditError:
    return EditError(
        f"{name} lies outside {root}, the directory of the run; torchwhy changes no file there. "
        "Make this change by hand.",
        slug="outside-project",
    )
