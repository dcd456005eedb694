"""What `run.json` asks of the watched process."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

from torchwhy.plain_data import dataclass

# torchrun's and Accelerate's name, then those of srun, Open MPI and MPICH. Under srun a worker of torchrun has both.
RANK_VARIABLES = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
LARGEST_RANK = 10**6


def rank_of_environment() -> int:
    """Return the rank that the launcher gave to this process, 0 if it gave none."""
    for name in RANK_VARIABLES:
        given = os.environ.get(name, "")
        if given.isascii() and given.isdecimal() and int(given) <= LARGEST_RANK:
            return int(given)
    return 0


def host_name() -> str:
    """Return the name of this machine, as Slurm or else the system has it."""
    return os.environ.get("SLURMD_NODENAME") or platform.node()


@dataclass(frozen=True)
class Settings:
    """Read once when the process starts; nothing changes them afterwards."""

    directory: Path
    rank: int = 0
    rerun_step: int | None = None  # in a rerun, the step to look at
    seeds_from: Path | None = None  # in a trial, the run whose seeds it uses
    stop_after_step: int | None = None  # in a trial, its last step
    rehearsal_steps: int | None = None  # in a rehearsal, its last step; then it puts its questions
    rehearsal_seconds: float = 60.0  # how long it may take for them
    other_seed: int | None = None  # what to add to every seed that the program sets
    resume: str | None = None  # "interrupted" after a save, or "resumed" from it
    on_failure: str = (
        "stop"  # what to do about an update that would ruin the weights: stop, skip, continue
    )
    budget: float | None = None  # the share of the run's time that watching may take
    keeps_data: bool = True  # whether values of the data may be recorded
    keep_state: int | None = (
        None  # the most bytes of a failing step's state; None keeps nothing of the step
    )
    hang: float | None = None  # after how many seconds the supervisor asks where the process stands
    closely: bool = False  # whether every step is under the microscope

    @classmethod
    def read(cls, directory: Path) -> Settings:
        """Return the settings of the run that records into `directory`."""
        run = json.loads((directory / "run.json").read_text("utf-8"))
        options = run.get("options", {})
        rerun, seeds = run.get("rerun"), run.get("seeds_from")
        return cls(
            directory=directory,
            rank=rank_of_environment(),
            rerun_step=None if rerun is None else int(rerun["step"]),
            seeds_from=Path(seeds) if seeds else None,
            stop_after_step=options.get("stop_after_step"),
            rehearsal_steps=options.get("rehearsal_steps"),
            rehearsal_seconds=float(options.get("rehearsal_seconds") or 60.0),
            other_seed=options.get("other_seed"),
            resume=options.get("resume"),
            on_failure=str(options.get("on_failure", "stop")),
            budget=float(options["budget"]) if options.get("budget") else None,
            keeps_data=not options.get("no_data"),
            keep_state=options.get("keep_state"),
            hang=options.get("hang"),
            closely=bool(options.get("closely")),
        )

    @property
    def notes_files(self) -> bool:
        """Tell whether to note which files the program saves and loads."""
        return self.rehearsal_steps is not None or self.resume is not None

    @property
    def is_bounded(self) -> bool:
        """Tell whether this is a rerun or a trial, which count every step."""
        return self.rerun_step is not None or self.stop_after_step is not None
