"""run.json: the command, its options, and how it ended. The launcher writes it, all stages read it.

The file has the command with its secrets masked. The process that wrote it reads the real one, from memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchwhy.errors import TraceError
from torchwhy.plain_data import dataclass
from torchwhy.record.run_folder import (
    LARGEST_NOTE,
    LARGEST_TRACE,
    Seal,
    is_recorded_here,
    make_seal,
    read_json,
    replace_file,
)
from torchwhy.record.secrets import Secrets, masked_command, secrets_of

if TYPE_CHECKING:
    from torchwhy.record.trace import Trace

RUN_SCHEMA = 1
COMPUTED = "computed.txt"  # How many operations torchwhy looked at in a program that did not train.
BOOT_FAILURE = "boot-failure.txt"  # Beside run.json: why torchwhy could not start in a process.
TRACE_NAME = re.compile(r"rank([0-9]{1,9})\.jsonl")
MOST_TRACES = 4096  # The writer makes no more.
MOST_BYTES = 4 * LARGEST_TRACE  # of all traces of a run together
STORED_IF_GIVEN = (
    "budget",
    "keep_state",
    "hang",
    "stop_after_step",
    "rehearsal_steps",
    "other_seed",
    "resume",
)
LARGEST_STEP = 10**12  # A step takes at least a microsecond, a run at most some days.

_spoken: dict[tuple[str, ...], tuple[str, ...]] = {}  # Real commands by masked ones.


@dataclass(frozen=True)
class Run:
    """One run of the user's command; `rerun_step` is set if it is a rerun up to that step.

    A trial of a fix starts with the seeds of another run, `seeds_from`, ends after `stop_after_step`, and may set
    variables, `environment` (`LR=0.05`). A rehearsal of `torchwhy check` ends after `rehearsal_steps` and then puts its
    questions for at most `rehearsal_seconds`; its steps may take no longer, either. Its further runs change one thing:
    `other_seed` is added to every seed of the program; of `resume`, "interrupted" ends after the first step after a
    save, and "resumed" is started again where that one wrote its files. `exit_code` is None while it runs, then as in a
    shell: 128 + n after signal n.
    """

    command: tuple[str, ...]
    directory: str
    on_failure: str = "stop"
    budget: float | None = None
    keeps_data: bool = True
    keep_state: int | None = None  # bytes of a failing step's state; None keeps nothing of the step
    allow: tuple[str, ...] = ()  # causes that the report leaves out: `detect/allowances.py`
    hang: float | None = None  # seconds without a step after which stacks are taken
    closely: bool = False  # every step is under the microscope
    hash_seed: int | None = None
    rerun_step: int | None = None
    seeds_from: str | None = None
    stop_after_step: int | None = None
    rehearsal_steps: int | None = None
    rehearsal_seconds: float | None = None
    other_seed: int | None = None
    resume: str | None = None
    environment: tuple[str, ...] = ()
    exit_code: int | None = None
    signal: int | None = None
    seconds: float | None = None
    timed_out: bool = False
    stopped_step: int | None = None  # the newest step when a finding ended the run (`--on-finding`)
    stopped_for: str | None = None  # "hang" if the run was ended for one (`--on-hang`)
    masked: tuple[int, ...] = ()  # The words of the command whose secrets were not stored.
    seal: Seal | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the content of run.json."""
        command = masked_command(self.command)
        facts: dict[str, Any] = {
            "schema": RUN_SCHEMA,
            "command": list(command),
            "directory": self.directory,
            "options": self._options(),
            "hash_seed": self.hash_seed,
            "rerun": None if self.rerun_step is None else {"step": self.rerun_step},
        }
        hidden = {i for i, word in enumerate(self.command) if word != command[i]} | set(self.masked)
        if hidden:
            facts["masked"] = sorted(hidden)
        if self.seal is not None:
            facts["seal"] = {"inode": self.seal.inode, "changed_ns": self.seal.changed_ns}
        if self.seeds_from is not None:
            facts["seeds_from"] = self.seeds_from
        if self.environment:
            facts["environment"] = list(self.environment)
        if self.timed_out:
            facts["timed_out"] = True
        if self.stopped_step is not None:
            facts["stopped_step"] = self.stopped_step
        if self.stopped_for is not None:
            facts["stopped_for"] = self.stopped_for
        if self.exit_code is not None:
            facts["exit_code"] = self.exit_code
            facts["signal"] = self.signal
            facts["seconds"] = self.seconds
            facts["timed_out"] = self.timed_out
        return facts

    def _options(self) -> dict[str, Any]:
        """Return the options that were given."""
        options: dict[str, Any] = {"on_failure": self.on_failure}
        options |= {
            name: value for name in STORED_IF_GIVEN if (value := getattr(self, name)) is not None
        }
        if self.rehearsal_steps is not None:
            options["rehearsal_seconds"] = self.rehearsal_seconds
        if not self.keeps_data:
            options["no_data"] = True
        if self.allow:
            options["allow"] = list(self.allow)
        if self.closely:
            options["closely"] = True
        return options


def write_run(run_directory: Path, run: Run) -> None:
    """Write run.json atomically; on a disk that is full by now, over the old one."""
    remember_command(run.command)
    path = run_directory / "run.json"
    text = json.dumps(run.to_json(), indent=1) + "\n"
    try:
        replace_file(path, text)
    except OSError:
        if not path.exists():
            raise
        # Its block on the disk is large enough for a few more lines.
        with path.open("r+b") as file:
            file.write(text.encode())
            file.truncate()


def remember_command(command: Sequence[str]) -> None:
    """Have `read_run` return this command, secrets included, in this process."""
    masked = masked_command(command)
    if masked != tuple(command):
        _spoken[masked] = tuple(command)


def known_secrets() -> Secrets:
    """Return the secrets of the commands that this process has started."""
    return secrets_of([word for command in _spoken.values() for word in command])


def sealed(run_directory: Path, run: Run) -> Run:
    """Return the run, marked as recorded here by this user."""
    return replace(run, seal=make_seal(run_directory, masked_command(run.command), run.directory))


def recorded_here(run_directory: Path, run: Run) -> bool:
    """Tell whether this user recorded the run here; if not, its command is a stranger's."""
    command = masked_command(run.command)
    return is_recorded_here(run_directory, command, run.directory, run.seal)


def read_run(run_directory: Path) -> Run:
    """Return the content of run.json."""
    path = run_directory / "run.json"
    try:
        facts = read_json(path, LARGEST_NOTE)
    except FileNotFoundError:
        raise TraceError(
            f"{run_directory} is not a recorded run: it has no run.json.", slug="unknown-run"
        ) from None
    if not isinstance(facts, dict) or facts.get("schema") != RUN_SCHEMA:
        raise TraceError(
            f"{path} was written by another version of torchwhy.", slug="unreadable-trace"
        )
    try:
        run = _from_json(_Fields(facts))
    except (TypeError, ValueError) as problem:
        raise TraceError(f"{path} is damaged: {problem}.", slug="unreadable-trace") from problem
    spoken = _spoken.get(run.command)
    return run if spoken is None else replace(run, command=spoken, masked=())


class _Fields:
    """The fields of a JSON object, each asked for with its type and range."""

    def __init__(self, facts: Any) -> None:
        if not isinstance(facts, dict):
            raise TypeError("an object is missing")
        self._facts = facts

    def has(self, name: str) -> bool:
        """Tell whether there is a field of this name."""
        return name in self._facts

    def inner(self, name: str) -> _Fields:
        """Return an object inside this one; an empty one if there is none."""
        return _Fields(self._facts.get(name) or {})

    def text(self, name: str, default: str | None = None) -> str | None:
        """Return a string that can be a path."""
        value = self._facts.get(name, default)
        if value is None or (isinstance(value, str) and "\0" not in value):
            return value
        raise TypeError(f"`{name}` is no text")

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of strings that is not empty."""
        value = self._facts.get(name)
        if not isinstance(value, list) or not value:
            raise TypeError(f"`{name}` is no list of words")
        if not all(isinstance(one, str) and "\0" not in one for one in value) or not value[0]:
            raise TypeError(f"`{name}` is no list of words")
        return tuple(value)

    def whole(self, name: str, low: int, high: int) -> int | None:
        """Return an integer from `low` to `high`."""
        value = self._facts.get(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ValueError(f"`{name}` is no number from {low} to {high}")
        return value

    def number(self, name: str, high: float) -> float | None:
        """Return a number from 0 to `high`."""
        value = self._facts.get(name)
        if value is None:
            return None
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= high:
            raise ValueError(f"`{name}` is no number from 0 to {high:g}")
        return float(value)

    def truth(self, name: str) -> bool:
        """Return a truth value."""
        value = self._facts.get(name, False)
        if not isinstance(value, bool):
            raise TypeError(f"`{name}` is no truth value")
        return value

    def positions(self, name: str, end: int) -> tuple[int, ...]:
        """Return a list of positions before `end`."""
        value = self._facts.get(name, [])
        if not isinstance(value, list) or not all(one in range(end) for one in value):
            raise ValueError(f"`{name}` is no list of positions")
        return tuple(int(one) for one in value)


def _from_json(facts: _Fields) -> Run:
    options, seal = facts.inner("options"), facts.inner("seal")
    command, directory = facts.texts("command"), facts.text("directory")
    if directory is None:
        raise TypeError("`directory` is missing")
    inode, changed = seal.whole("inode", 0, 2**64), seal.whole("changed_ns", 0, 2**64)
    return Run(
        command=command,
        directory=directory,
        on_failure=options.text("on_failure", "stop") or "stop",
        budget=options.number("budget", 1.0),
        keeps_data=not options.truth("no_data"),
        keep_state=options.whole("keep_state", 0, 2**63),
        allow=options.texts("allow") if options.has("allow") else (),
        hang=options.number("hang", 1e12),
        closely=options.truth("closely"),
        hash_seed=facts.whole("hash_seed", 0, 2**32 - 1),
        rerun_step=facts.inner("rerun").whole("step", -1, LARGEST_STEP),
        seeds_from=facts.text("seeds_from"),
        stop_after_step=options.whole("stop_after_step", -1, LARGEST_STEP),
        rehearsal_steps=options.whole("rehearsal_steps", 1, LARGEST_STEP),
        rehearsal_seconds=options.number("rehearsal_seconds", 1e12),
        other_seed=options.whole("other_seed", 1, 2**31),
        resume=options.text("resume"),
        environment=facts.texts("environment") if facts.has("environment") else (),
        exit_code=facts.whole("exit_code", -(2**31), 2**32),
        signal=facts.whole("signal", 1, 255),
        seconds=facts.number("seconds", 1e12),
        timed_out=facts.truth("timed_out"),
        stopped_step=facts.whole("stopped_step", -1, LARGEST_STEP),
        stopped_for=facts.text("stopped_for"),
        masked=facts.positions("masked", len(command)),
        seal=None if inode is None or changed is None else Seal(inode, changed),
    )


def read_traces(run_directory: Path) -> list[Trace]:
    """Return the trace of every rank, in the order of the ranks, each with its rerun if there is one."""
    from torchwhy.record.trace import (
        read_rank,  # This import takes 40 ms, which `torchwhy --help` does not need.
    )

    exit_code = read_run(run_directory).exit_code
    rerun = run_directory / "rerun"
    of_rerun = rerun if rerun.is_dir() and not rerun.is_symlink() else None
    traces = [
        read_rank(path, exit_code=exit_code, rerun=of_rerun) for path in trace_files(run_directory)
    ]
    return sorted(traces, key=lambda trace: trace.rank)


def trace_files(run_directory: Path, most_bytes: int = MOST_BYTES) -> list[Path]:
    """Return the files `rankN.jsonl` of a run; raise `TraceError` if they are more than torchwhy writes."""
    paths = [path for path in run_directory.glob("rank*.jsonl") if TRACE_NAME.fullmatch(path.name)]
    if len(paths) > MOST_TRACES or sum(path.lstat().st_size for path in paths) > most_bytes:
        raise TraceError(
            f"{run_directory} holds more traces than torchwhy reads: {MOST_TRACES} files of "
            f"{most_bytes} bytes together.",
            slug="unreadable-trace",
        )
    return paths
