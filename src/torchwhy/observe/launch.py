"""Starts the user's program as its own process and waits for it: the supervisor, which never imports torch.

The program keeps its real `__main__`, arguments, directory, standard streams and terminal. The two things it
gets from us are in its environment: where to record, and a folder whose `sitecustomize` arms the recording.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from torchwhy.errors import UsageError
from torchwhy.observe.ending_signals import NAMES, ending
from torchwhy.observe.standard_input import KeptInput, file_kept
from torchwhy.record.run_file import Run, known_secrets, write_run

BOOT_FOLDER = Path(__file__).resolve().parent / "boot"
RUN_VARIABLE = "TORCHWHY_RUN"
LARGEST_HASH_SEED = 4294967295  # the interpreter's own limit for PYTHONHASHSEED
FORWARDED = ("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2")
FROM_THE_KEYBOARD = ("SIGINT", "SIGQUIT")
POLL_SECONDS = 0.05
MOMENT_SECONDS = 2.0  # for a repeated run that was asked to end, before it is killed
PR_SET_PDEATHSIG = 1


def child_command(command: Sequence[str], directory: Path = Path()) -> list[str]:
    """Return what to execute: a script and `-m` get this interpreter, every other command runs as it is.

    `directory` is where the command will be started, by default here.
    """
    if not command:
        raise UsageError("no program was given: try `torchwhy run train.py`.", slug="no-program")
    program, *arguments = command
    if program in ("-m", "-c"):
        if not arguments:
            raise UsageError(f"{program} needs an argument after it.", slug="no-program")
        return [sys.executable, *command]
    if is_script(program, directory):
        return [sys.executable, *command]
    if shutil.which(program) is None:
        raise UsageError(
            f"there is no file and no command named {program!r}; the directory is {Path.cwd()}.",
            slug="no-such-program",
        )
    return list(command)


def is_script(program: str, directory: Path = Path()) -> bool:
    """Tell whether this is a Python file to be run by this interpreter; complain if it cannot be one."""
    path = directory / program
    named_like_python = path.suffix in (".py", ".pyw")
    if path.is_dir():
        if (path / "__main__.py").exists():
            return True
        if named_like_python or os.sep in program or shutil.which(program) is None:
            raise UsageError(
                f"{program} is a directory, not a script, and it holds no __main__.py.",
                slug="script-is-directory",
            )
        return False
    if named_like_python and not path.exists():
        raise UsageError(
            f"the script {program} does not exist; the directory is {Path.cwd()}.",
            slug="no-such-script",
        )
    if not path.is_file():
        return False
    if not os.access(path, os.R_OK):
        raise UsageError(f"the script {program} cannot be read.", slug="unreadable-script")
    return named_like_python or (shutil.which(program) is None and not os.access(path, os.X_OK))


def describe_run(
    command: Sequence[str],
    *,
    on_failure: str,
    budget: float | None = None,
    keeps_data: bool = True,
    keep_state: int | None = None,
    allow: Sequence[str] = (),
    hang: float | None = None,
) -> Run:
    """Return the run that is about to start here and now."""
    return Run(
        command=tuple(command),
        directory=str(Path.cwd()),
        on_failure=on_failure,
        budget=budget,
        keeps_data=keeps_data,
        keep_state=keep_state,
        allow=tuple(allow),
        hang=hang,
        hash_seed=_hash_seed(os.environ),
    )


def _hash_seed(environment: Mapping[str, str]) -> int:
    """Return the user's PYTHONHASHSEED, or a drawn one: only a known seed can be used a second time."""
    given = environment.get("PYTHONHASHSEED", "")
    if given.isdecimal() and int(given) <= LARGEST_HASH_SEED:
        return int(given)
    return int.from_bytes(os.urandom(4), "big") or 1  # 0 would switch hash randomisation off


def child_environment(run_directory: Path, run: Run) -> dict[str, str]:
    """Return our own environment with the three variables that make a Python child record itself."""
    environment = dict(os.environ) | dict(word.split("=", 1) for word in run.environment)
    paths = [str(BOOT_FOLDER)]
    if environment.get("PYTHONPATH"):  # an empty one must not become an entry: it would mean "here"
        paths.append(environment["PYTHONPATH"])
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    environment["PYTHONHASHSEED"] = str(run.hash_seed)
    environment[RUN_VARIABLE] = str(run_directory)
    return environment


def run_in_foreground(
    run_directory: Path | None,
    run: Run,
    *,
    beside: Callable[[subprocess.Popen[bytes]], AbstractContextManager[object]] = nullcontext,
) -> Run:
    """Run the program on our own streams and terminal; return the run, ended. Without a directory it runs unwatched.

    `beside` is entered with the program's process and left when the program has ended.
    """
    arguments = child_command(run.command)
    environment = (
        dict(os.environ) if run_directory is None else child_environment(run_directory, run)
    )
    started = time.monotonic()
    with _signals_forwarded() as child_is, file_kept(run_directory):
        child = _start(arguments, env=environment, preexec_fn=_end_with_us())
        child_is(child)
        with beside(child):
            returned = child.wait()
    return _note_end(run_directory, run, returned=returned, started=started)


def _end_with_us() -> Callable[[], None] | None:
    """Return what makes the kernel kill the program if the supervisor is killed: the user knows no other process."""
    if sys.platform != "linux":
        return None
    import ctypes

    set_attribute = ctypes.CDLL(None).prctl

    def at_start() -> None:
        set_attribute(PR_SET_PDEATHSIG, signal.SIGKILL)

    return at_start


def run_quietly(
    run_directory: Path,
    run: Run,
    *,
    limit_seconds: float,
    progress: Callable[[float], None] = lambda _seconds: None,
    environment: Mapping[str, str] | None = None,
    confine: Callable[[list[str]], list[str]] = list,
) -> Run:
    """Run the program out of sight, its output in `output.txt`, and kill all of it after the limit.

    `confine` returns the command that starts the given one; `environment` is added to our own.
    """
    arguments = confine(child_command(run.command, Path(run.directory)))
    write_run(run_directory, run)
    started = time.monotonic()
    timed_out = False
    kept_input = KeptInput(run_directory)
    with (run_directory / "output.txt").open("wb") as output:
        child = _start(
            arguments,
            env={**child_environment(run_directory, run), **(environment or {})},
            cwd=run.directory,
            stdin=kept_input.stream,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        with ending.stopping(lambda: _kill_all(child, run_directory)):
            try:
                ending.raise_early()
                kept_input.feed(child)
                timed_out = _wait_until(child, started + limit_seconds, progress=progress)
            except KeyboardInterrupt:
                _pass_on(child, ending.received or signal.SIGINT)
                raise
            finally:
                _kill_all(child, run_directory)
                returned = child.wait()
                _mask_output(run_directory / "output.txt")
    ended = replace(run, timed_out=timed_out)
    return _note_end(run_directory, ended, returned=returned, started=started)


def _mask_output(path: Path) -> None:
    """Mask what the program printed of the secrets on its command line."""
    secrets = known_secrets()
    if not secrets:
        return
    masked = path.with_suffix(".masked")
    with suppress(OSError), path.open("rb") as output, masked.open("wb") as copy:
        for line in output:
            text = line.decode(errors="surrogateescape")
            copy.write(secrets.masked(text).encode(errors="surrogateescape"))
        masked.replace(path)


def _note_end(run_directory: Path | None, run: Run, *, returned: int, started: float) -> Run:
    killed_by = -returned if returned < 0 else None
    ended = replace(
        run,
        exit_code=returned if killed_by is None else 128 + killed_by,
        signal=killed_by,
        seconds=round(time.monotonic() - started, 3),
    )
    if run_directory is not None:
        with suppress(OSError):  # the program's exit code must not be lost over a full disk
            write_run(run_directory, ended)
    return ended


def _start(arguments: list[str], **options: Any) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(arguments, **options)
    except OSError as problem:
        raise UsageError(
            f"{arguments[0]} cannot be started: {problem.strerror}.", slug="cannot-start"
        ) from problem


def _wait_until(
    child: subprocess.Popen[bytes], deadline: float, *, progress: Callable[[float], None]
) -> bool:
    """Wait for the end of the child, or return True at the deadline."""
    started = time.monotonic()
    while True:
        with suppress(subprocess.TimeoutExpired):
            child.wait(POLL_SECONDS)
            return False
        ending.raise_early()  # Only the main thread is interrupted by a signal.
        now = time.monotonic()
        if now >= deadline:
            return True
        progress(now - started)


def _pass_on(child: subprocess.Popen[bytes], number: int) -> None:
    """Hand a signal to the child's whole group, and leave it a moment to end by itself."""
    with suppress(OSError, AttributeError):
        os.killpg(child.pid, number)
    with suppress(subprocess.TimeoutExpired):
        child.wait(MOMENT_SECONDS)


def _kill_all(child: subprocess.Popen[bytes], run_directory: Path) -> None:
    """Kill the child and what it left behind: its group, and processes that left the group but record here."""
    if not hasattr(os, "killpg"):
        child.kill()
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    if sys.platform != "linux":
        return
    for process in _processes():
        if records_into(process, run_directory):
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)


def records_into(process: int, run_directory: Path) -> bool:
    """Tell whether a process belongs to this run; only Linux can say so."""
    mark = os.fsencode(f"{RUN_VARIABLE}={run_directory}")
    try:
        return mark in Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _processes() -> list[int]:
    names = [path.name for path in Path("/proc").iterdir()]
    return [int(name) for name in names if name.isdecimal() and int(name) != os.getpid()]


@contextmanager
def _signals_forwarded() -> Iterator[Callable[[subprocess.Popen[bytes]], None]]:
    """Survive signals and hand them on; a signal that came before the child is handed on when it is there."""
    child: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def forward(number: int, _frame: object) -> None:
        if signal.Signals(number).name in NAMES:
            ending.received = number
        if _terminal_told_the_child(number):
            return
        if not child:
            early.append(number)
        elif child[0].returncode is None:
            with suppress(ProcessLookupError):
                os.kill(child[0].pid, number)

    def child_is(started: subprocess.Popen[bytes]) -> None:
        child.append(started)
        for number in early:
            forward(number, None)

    previous = {}
    for name in FORWARDED:
        number = getattr(signal, name, None)
        # A signal that is ignored (nohup, a job in the background) stays ignored, here and in the child.
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            previous[number] = signal.signal(number, forward)
    try:
        yield child_is
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _terminal_told_the_child(number: int) -> bool:
    """Tell whether this came from the keyboard: the terminal sends it to the whole foreground group."""
    if signal.Signals(number).name not in FROM_THE_KEYBOARD:
        return False
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
