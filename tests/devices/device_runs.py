"""Runs the programs of `programs/` on the toy device, bare and watched, each kind of run once."""

from __future__ import annotations

import json
import os
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from tests.support.children import SOURCE, Ended, Zygote
from tests.support.run_program import ONE_READS
from torchwhy.finding import Finding
from torchwhy.pipeline import diagnose
from torchwhy.record.run_file import Run, read_traces, write_run
from torchwhy.record.trace import Trace
from torchwhy.report.model import Report

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
PACKAGES = HERE / "site-packages"


@dataclass
class DeviceRun:
    """What one run left behind."""

    ended: Ended
    folder: Path

    @cached_property
    def report(self) -> Report:
        with ONE_READS:
            return diagnose(self.folder / "run")

    @property
    def root(self) -> Finding:
        return self.report.findings[0]

    @cached_property
    def trace(self) -> Trace:
        (trace,) = read_traces(self.folder / "run")
        return trace

    @property
    def stderr(self) -> str:
        return (self.folder / "stderr").read_text()

    @property
    def waits(self) -> list[int]:
        """Return how often each step waited for the device."""
        counts = json.loads((self.folder / "waits.json").read_text())["waits"]
        return [now - before for before, now in zip([0, *counts], counts, strict=False)]

    @property
    def state(self) -> list[Any]:
        """Return all numbers and tensors at the end, random streams included."""
        leaves, _ = tree_flatten(torch.load(self.folder / "end.pt", map_location="cpu"))
        return [leaf.tolist() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]


class DeviceRuns:
    """Starts programs when they are first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._zygote = Zygote(PYTHONPATH=f"{SOURCE}{os.pathsep}{PACKAGES}")
        self._pool = ThreadPoolExecutor(2)
        self._runs: dict[tuple[str, bool, str], Future[DeviceRun]] = {}

    def of(self, name: str, *, watched: bool = True, variant: str = "") -> DeviceRun:
        return self.start(name, watched=watched, variant=variant).result()

    def start(self, name: str, *, watched: bool = True, variant: str = "") -> Future[DeviceRun]:
        """Start a run; `variant` is a variable of the environment that is set to 1."""
        key = (name, watched, variant)
        if key not in self._runs:
            self._runs[key] = self._pool.submit(self._run, *key)
        return self._runs[key]

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._zygote.close()

    def _run(self, name: str, watched: bool, variant: str) -> DeviceRun:  # noqa: FBT001 - a key
        folder = self._folder / f"{name}-{'watched' if watched else 'bare'}{variant}"
        run_directory = folder / "run"
        run_directory.mkdir(parents=True)
        write_run(run_directory, Run(command=(f"{name}.py",), directory=str(folder)))
        ended = self._zygote.run(
            PROGRAMS / f"{name}.py",
            directory=folder,
            output=folder,
            run_directory=run_directory if watched else None,
            environment={variant: "1"} if variant else {},
        )
        return DeviceRun(ended, folder)
