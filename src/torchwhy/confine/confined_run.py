"""Runs the program again so that it changes no file of the user, and cleans up after it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path

from torchwhy.confine.created_files import created
from torchwhy.confine.directory_copy import DirectoryCopy, moved_command, moved_path
from torchwhy.confine.plan import GUARD_FILE, REFUSED_FILE, Plan
from torchwhy.confine.scratch_folders import scratch_folders
from torchwhy.confine.touched_files import first_touched, stamps
from torchwhy.confine.trackers import repeated_environment
from torchwhy.observe.launch import RUN_VARIABLE, run_quietly
from torchwhy.plain_data import dataclass
from torchwhy.record.run_file import Run, read_run

ENTER = Path(__file__).with_name("enter.py")
RUN_TWICE = Path(__file__).with_name("run_twice.py")
WAY_VARIABLE = "TORCHWHY_CONFINE"  # Names the way to use, for tests and for kernels with a fault.
WAYS = ("layers", "mounts", "landlock", "hook")
CHECK_SECONDS = 20.0  # A kernel answers at once; a dead network file system never does.
EDITED_FILES = "overlay.json"
PYTHON = (
    "",
    ".py",
    ".pyw",
)  # The boot loads these from their edited copies; a script may have no suffix.

Progress = Callable[[float], None]


class FileProtectedError(Exception):
    """The program cannot be repeated without a change of a user's file."""

    def __init__(self, path: str, *, changed: bool) -> None:
        self.path = path
        self.changed = changed
        super().__init__(
            f"{path} changed while the program ran again in a copy of its directory, so it is not run "
            "any more; `--rerun-in-place` allows it to write its files."
            if changed
            else f"the program cannot run again without writing {path}, which torchwhy refuses; "
            "`--rerun-in-place` allows it."
        )


@dataclass(frozen=True)
class Confinement:
    """Where and how a repeated run takes place; `copied` maps directories to their copies."""

    plan: Plan
    plan_file: Path
    environment: dict[str, str] = field(default_factory=dict)
    copied: dict[Path, Path] = field(default_factory=dict)

    def started(self, arguments: Sequence[str]) -> list[str]:
        """Return the command that confines itself and becomes the given one."""
        return [sys.executable, "-I", "-S", os.fspath(ENTER), os.fspath(self.plan_file), *arguments]

    def works(self) -> bool:
        """Tell whether this kernel can confine a process so."""
        try:
            done = subprocess.run(
                self.started([]), capture_output=True, timeout=CHECK_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0


def run_again(
    place: Path,
    run: Run,
    *,
    first: Path | None,
    limit_seconds: float,
    progress: Progress = lambda _seconds: None,
    in_place: bool = False,
    resumed: Path | None = None,
) -> Run:
    """Run the program out of sight, recording into `place`.

    `first` is the run directory of an ordinary run before it, whose new files are hidden; None if there was none. With
    `in_place` the program may write its files as it did then. With `resumed`, it is started a second time when it has
    ended: it finds the files that it wrote, and records there. Raise `FileProtectedError` if all this is impossible
    without a change of a user's file.
    """
    if in_place:
        for path, _ in _settings(place):
            raise FileProtectedError(path, changed=False)
        environment = repeated_environment(place)
        return run_quietly(
            place, run, limit_seconds=limit_seconds, progress=progress, environment=environment
        )
    with confined(place, run, first=first) as confinement:
        _replace_settings(place, confinement)
        _move_edited_files(place, confinement)
        before = stamps(*confinement.copied) if confinement.plan.way == "hook" else None
        ended = run_quietly(
            place,
            replace(
                run,
                command=moved_command(run.command, confinement.copied),
                directory=confinement.plan.directory,
            ),
            limit_seconds=limit_seconds,
            progress=progress,
            environment=confinement.environment,
            confine=confinement.started if resumed is None else _twice(confinement, place, resumed),
        )
        changed = None if before is None else first_touched(before, stamps(*confinement.copied))
    if changed is not None:
        raise FileProtectedError(changed, changed=True)
    return ended


def refused_path(place: Path) -> str | None:
    """Return the first path that a repeated run was not allowed to write."""
    try:
        lines = (place / REFUSED_FILE).read_text("utf8", "surrogateescape").splitlines()
    except OSError:
        return None
    return lines[0] if lines else None


@contextmanager
def confined(place: Path, run: Run, *, first: Path | None) -> Iterator[Confinement]:
    """Prepare the first way that works here, and remove what it needed afterwards."""
    place = place.resolve()
    directory = Path(run.directory)
    with scratch_folders(place) as folders:
        yield _layers(place, directory, folders, first) or _copy(place, run, folders, first)


def available_ways() -> tuple[str, ...]:
    """Return the ways to try, best first."""
    chosen = os.environ.get(WAY_VARIABLE, "")
    if chosen in WAYS:
        return (chosen, "hook") if chosen != "layers" else WAYS
    return WAYS if sys.platform == "linux" else WAYS[-1:]


def way_here(directory: Path) -> str:
    """Return the way that a program in this directory would be run again."""
    with tempfile.TemporaryDirectory(prefix="torchwhy-") as made, scratch_folders() as folders:
        scratch = Path(made)
        for way in available_ways():
            plan = Plan(
                way,
                os.fspath(directory if way == "layers" else scratch),
                writable=(made,),
                layer_folders=tuple(map(os.fspath, folders)),
            )
            confinement = Confinement(plan, scratch / "plan.json")
            plan.write(confinement.plan_file)
            if confinement.works():
                return way
    return "none"


def _layers(
    place: Path, directory: Path, folders: Sequence[Path], first: Path | None
) -> Confinement | None:
    if "layers" not in available_ways():
        return None
    scratch = next(folder for folder in folders if place in folder.parents)
    plan = Plan(
        "layers",
        os.fspath(directory),
        writable=(os.fspath(place),),
        layer_folders=tuple(map(os.fspath, folders)),
        hidden=tuple(map(os.fspath, _made_by(first, directory))),
    )
    confinement = Confinement(plan, scratch / "plan.json", repeated_environment(scratch))
    plan.write(confinement.plan_file)
    return confinement if confinement.works() else None


def _copy(place: Path, run: Run, folders: Sequence[Path], first: Path | None) -> Confinement:
    """Copy the program's directories; the strictest guard that works here watches over the rest."""
    directory = Path(run.directory)
    scratch = next(folder for folder in folders if place in folder.parents)
    copies = DirectoryCopy(
        scratch / "files",
        without={*_made_by(first, directory), *folders},
        since=_began(first),
    )
    copied = copies.copy(_directories(run))
    writable = (os.fspath(place), *map(os.fspath, folders))
    # Sockets of worker processes lie in the temporary folder, and their paths may have 108 characters.
    temporary = min(folders, key=lambda folder: len(str(folder)))
    environment = {**repeated_environment(scratch), "TMPDIR": os.fspath(temporary)}
    (place / GUARD_FILE).write_text(json.dumps(writable), encoding="utf8")
    for way in available_ways():
        if way != "layers":
            plan = Plan(way, os.fspath(copied[directory]), writable=writable)
            confinement = Confinement(plan, scratch / "plan.json", environment, copied)
            plan.write(confinement.plan_file)
            if confinement.works():
                return confinement
    raise OSError("no way to start a process works here")


def _made_by(first: Path | None, directory: Path) -> Iterator[Path]:
    if first is not None:
        yield from created(first, directory)


def _began(first: Path | None) -> float:
    """Return when the first run began; if that is unknown, long ago, so that every file counts as changed."""
    if first is None:
        return float("inf")
    run = read_run(first)
    if run.seconds is None:
        return 0.0
    return (first / "run.json").stat().st_mtime - run.seconds - 1.0


def _twice(
    confinement: Confinement, place: Path, resumed: Path
) -> Callable[[list[str]], list[str]]:
    """Return what starts a command twice, one time after the other, behind the same confinement."""
    guard = place / GUARD_FILE
    if guard.exists():
        (resumed / GUARD_FILE).write_bytes(guard.read_bytes())
    twice = [sys.executable, "-I", "-S", os.fspath(RUN_TWICE), RUN_VARIABLE, os.fspath(resumed)]
    return lambda arguments: confinement.started([*twice, *arguments])


def _directories(run: Run) -> list[Path]:
    """Return the working directory, and the folders of scripts that lie elsewhere."""
    directory = Path(run.directory)
    found = [directory]
    for word in run.command:
        folder = (directory / word).parent.resolve()
        is_script = word.endswith(".py") and (directory / word).is_file()
        apart = not any(folder.is_relative_to(one) or one.is_relative_to(folder) for one in found)
        if is_script and apart:
            found.append(folder)
    return found


def _move_edited_files(place: Path, confinement: Confinement) -> None:
    """Give the copies of edited files their edited text, too."""
    listed = place / EDITED_FILES
    if not listed.exists() or not confinement.copied:
        return
    edited = json.loads(listed.read_bytes())
    for path, text in list(edited.items()):
        moved = moved_path(Path(path), confinement.copied)
        if moved is not None:
            edited[os.fspath(moved)] = text
    listed.write_text(json.dumps(edited), encoding="utf8")


def _settings(place: Path) -> list[tuple[str, str]]:
    """Return the edited files that are not Python, with their edited copies: a program opens them itself."""
    listed = place / EDITED_FILES
    edited = json.loads(listed.read_bytes()) if listed.exists() else {}
    return [(path, copy) for path, copy in edited.items() if Path(path).suffix not in PYTHON]


def _replace_settings(place: Path, confinement: Confinement) -> None:
    """Let the confined process find edited settings under the names of the files."""
    found = []
    for path, copy in _settings(place):
        moved = moved_path(Path(path), confinement.copied) if confinement.copied else Path(path)
        if moved is not None:
            found.append((os.fspath(moved), copy))
    if found:
        replace(confinement.plan, replaced=tuple(found)).write(confinement.plan_file)
