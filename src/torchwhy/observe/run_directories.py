"""Where a run is recorded: below the working directory, else below the temporary one, else nowhere."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path

from torchwhy.observe.settings import host_name
from torchwhy.record.run_file import Run, sealed, write_run
from torchwhy.record.run_folder import SEAL_FILE

RUNS_FOLDER = Path(".torchwhy") / "runs"
LEAST_ROOM = 1_000_000  # bytes; a short run with its report takes a few hundred thousand
PROBE_FILE = "room"
PRIVATE = 0o700


class CannotRecordError(Exception):
    """Nothing can be recorded here; the message says why."""


def make_run_directory(
    command: Sequence[str], runs: Path = RUNS_FOLDER, *, is_given: bool = False
) -> Path:
    """Make `<runs>/<UTC>-<script>-<id>/`, which only its owner may read, and return its absolute path.

    If the user gave `runs`, its access rights stay as they are, and the name begins with that of the machine.
    """
    moment = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    host = re.sub(r"[^A-Za-z0-9_.-]+", "-", host_name())[:60] + "-" if is_given else ""
    while True:
        name = f"{host}{moment}-{_short_name(command)}-{os.urandom(2).hex()}"
        directory = (runs / name).absolute()
        try:
            if is_given:
                runs.mkdir(parents=True, exist_ok=True)
            else:
                for folder in (runs.parent, runs):
                    _make_private(folder)
                _keep_out_of_git(runs.parent)
            directory.mkdir(mode=PRIVATE)
            directory.chmod(PRIVATE)  # whatever the umask is
        except FileExistsError:
            if directory.is_dir():
                continue
            raise CannotRecordError(f"{runs} is not a directory") from None
        except OSError as problem:
            raise CannotRecordError(problem.strerror or str(problem)) from problem
        return directory


def _make_private(folder: Path) -> None:
    """Make a folder that only its owner may read; one that exists becomes so if it is the user's own."""
    with suppress(FileExistsError):
        folder.mkdir(mode=PRIVATE, parents=True)
    facts = folder.lstat()
    if not folder.is_dir():
        raise FileExistsError(f"{folder} is not a directory")
    if stat.S_ISLNK(facts.st_mode) or facts.st_mode & 0o777 == PRIVATE:
        return
    if not hasattr(os, "geteuid") or facts.st_uid == os.geteuid():
        with suppress(OSError):  # a file system without modes
            folder.chmod(PRIVATE)


def begin_recording(run: Run, runs: Path = RUNS_FOLDER, *, is_given: bool = False) -> Path:
    """Make a run directory with `run.json`, and check that there is room for a trace."""
    directory = make_run_directory(run.command, runs, is_given=is_given)
    try:
        write_run(directory, sealed(directory, run))
        _check_room(directory / PROBE_FILE)
    except OSError as problem:
        _give_up(directory, is_given=is_given)
        raise CannotRecordError(problem.strerror or str(problem)) from problem
    return directory


def _check_room(probe: Path) -> None:
    with probe.open("xb") as file:
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, LEAST_ROOM)
        finally:
            probe.unlink()


def _give_up(directory: Path, *, is_given: bool) -> None:
    """Remove an unfinished run directory, and what was made for it alone."""
    for name in (PROBE_FILE, SEAL_FILE, "run.json"):
        with suppress(OSError):
            (directory / name).unlink()
    with suppress(OSError):
        directory.rmdir()
        if is_given:
            return
        directory.parent.rmdir()
        (directory.parents[1] / ".gitignore").unlink(missing_ok=True)
        directory.parents[1].rmdir()


def temporary_runs(*, make: bool = True) -> Path:
    """Return the folder for runs below the temporary directory that only this user can write."""
    try:
        folder = Path(tempfile.gettempdir()) / f"torchwhy-{getattr(os, 'getuid', int)()}"
        if make:
            with suppress(FileExistsError):
                folder.mkdir(mode=PRIVATE)
        facts = folder.lstat()
        is_ours = not hasattr(os, "getuid") or facts.st_uid == os.getuid()
        if not stat.S_ISDIR(facts.st_mode) or not is_ours:
            if not make:
                raise CannotRecordError(f"{folder} is not this user's directory")
            folder = Path(tempfile.mkdtemp(prefix="torchwhy-"))
    except OSError as problem:
        raise CannotRecordError(problem.strerror or str(problem)) from problem
    return folder / "runs"


def _short_name(command: Sequence[str]) -> str:
    name = command[1] if command[0] == "-m" and len(command) > 1 else Path(command[0]).stem
    scripts = [Path(word).stem for word in command[1:] if word.endswith(".py")]
    if scripts and not command[0].endswith(".py") and command[0] not in ("-m", "-c"):
        name = scripts[0]  # the script inside a launcher's command tells more than the launcher
    return re.sub(r"[^A-Za-z0-9_.]+", "-", name).strip("-")[:40] or "program"


def _keep_out_of_git(folder: Path) -> None:
    if folder.is_symlink():  # It may lead to a folder that is not ours.
        return
    with suppress(FileExistsError), (folder / ".gitignore").open("x", encoding="utf8") as ignore:
        ignore.write("*\n")
