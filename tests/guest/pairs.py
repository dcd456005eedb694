"""Runs one program twice, bare and watched, in forked children, and keeps what each left behind."""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.support.children import Ended, Zygote, shared_zygote
from torchwhy.record.events import Event
from torchwhy.record.run_file import Run, write_run
from torchwhy.record.trace import read_events

PROGRAMS = Path(__file__).parent / "programs"
AT_A_TIME = 2


@dataclass(frozen=True)
class Left:
    """What one run of a program left behind."""

    ended: Ended
    folder: Path

    @property
    def stdout(self) -> str:
        return (self.folder / "stdout").read_text()

    @property
    def stderr(self) -> str:
        return (self.folder / "stderr").read_text()

    @property
    def testimony(self) -> list[tuple[str, str]]:
        """Return the names and digests the program swore to."""
        return [tuple(entry) for entry in json.loads((self.folder / "witness.json").read_text())]

    @property
    def events(self) -> list[Event]:
        """Return the events of all processes of the run, those of rank 0 first."""
        return [
            e
            for path in sorted((self.folder / "run").glob("rank*.jsonl"))
            for e in read_events(path)
        ]


class Pairs:
    """Runs programs of `programs/`, each kind of run once per test session."""

    def __init__(self, folder: Path, *, native: bool = True) -> None:
        self.folder = self._folder = folder
        self._own = None if native else Zygote(TORCHWHY_NATIVE="0")
        self._zygote = self._own or shared_zygote()
        self._pool = ThreadPoolExecutor(AT_A_TIME)
        self._runs: dict[tuple[str, bool, str, tuple[str, ...], str], Future[Left]] = {}

    def start(
        self,
        name: str,
        *,
        watched: bool,
        fault: str = "",
        arguments: tuple[str, ...] = (),
        on_failure: str = "stop",
    ) -> Future[Left]:
        """Start a run that will be asked for later; the same one is started once."""
        key = (name, watched, fault, arguments, on_failure)
        if key not in self._runs:
            self._runs[key] = self._pool.submit(self._run, *key)
        return self._runs[key]

    def run(
        self,
        name: str,
        *,
        watched: bool,
        fault: str = "",
        arguments: tuple[str, ...] = (),
        on_failure: str = "stop",
    ) -> Left:
        """Return what this run left."""
        return self.start(
            name, watched=watched, fault=fault, arguments=arguments, on_failure=on_failure
        ).result()

    def run_rank(
        self,
        name: str,
        arguments: tuple[str, ...],
        place: dict[str, str],
        rerun_step: int | None,
        *,
        watched: bool = True,
    ) -> Left:
        """Run one rank of a distributed program; all of them share a run directory."""
        bare = "" if watched else "-bare"
        run_directory = self._folder / f"{name}-{'-'.join(arguments)}{bare}" / "run"
        if rerun_step is not None:
            run_directory /= "rerun"
        folder = run_directory.parent / f"output-{place['RANK']}"
        for each in (folder, run_directory):
            each.mkdir(parents=True, exist_ok=True)
        script = PROGRAMS / f"{name}.py"
        if place["RANK"] == "0":
            write_run(
                run_directory,
                Run(command=(script.name,), directory=str(PROGRAMS), rerun_step=rerun_step),
            )
        while not (run_directory / "run.json").exists():
            time.sleep(0.01)
        ended = self._zygote.run(
            script,
            directory=PROGRAMS,
            output=folder,
            run_directory=run_directory if watched else None,
            arguments=arguments,
            environment=place,
        )
        (folder / "run").exists() or (folder / "run").symlink_to(run_directory)
        return Left(ended, folder)

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        if self._own is not None:
            self._own.close()

    def _run(
        self,
        name: str,
        watched: bool,  # noqa: FBT001 - a key
        fault: str,
        arguments: tuple[str, ...],
        on_failure: str,
    ) -> Left:
        words = (
            name.replace("/", "-"),
            "watched" if watched else "bare",
            fault.replace(" ", "-"),
            *arguments,
            on_failure,
        )
        folder = self._folder / "-".join(words)
        run_directory = folder / "run"
        run_directory.mkdir(parents=True)
        script = PROGRAMS / f"{name}.py"
        environment = {"TORCHWHY_FAULT": fault} if fault else {}
        write_run(
            run_directory,
            Run(command=(script.name,), directory=str(folder), on_failure=on_failure),
        )
        ended = self._zygote.run(
            script,
            directory=folder,
            output=folder,
            run_directory=run_directory if watched else None,
            arguments=arguments,
            environment=environment,
        )
        return Left(ended, folder)


def differences(bare: Left, watched: Left, *, swears: bool = True) -> list[str]:
    """Return the first things that two runs do not agree on, in words."""
    found = []
    if bare.ended.exit_code != watched.ended.exit_code:
        found.append(f"exit code {bare.ended.exit_code} bare, {watched.ended.exit_code} watched")
    for stream in ("stdout", "stderr"):
        mine, theirs = (
            _without_folder(getattr(left, stream), left.folder) for left in (bare, watched)
        )
        if mine != theirs:
            found.append(
                f"--- {stream} bare\n{mine[-3000:]}\n--- {stream} watched\n{theirs[-3000:]}"
            )
    if found or not swears:
        return found
    mine, theirs = bare.testimony, watched.testimony
    if len(mine) != len(theirs):
        found.append(f"{len(mine)} values bare, {len(theirs)} watched")
    for position, (one, two) in enumerate(zip(mine, theirs)):  # noqa: B905 - the lengths were compared
        if one != two:
            found.append(f"value {position}: {one} bare, {two} watched")
    return found[:5]


def names_us(text: str) -> list[str]:
    """Return the lines that speak of torchwhy; the folder these tests lie in may be called so, too."""
    ours = text.replace(str(Path(__file__).parents[2]), "")
    return [line for line in ours.splitlines() if "torchwhy" in line]


def _without_folder(text: str, folder: Path) -> str:
    return text.replace(os.fspath(folder), "FOLDER")
