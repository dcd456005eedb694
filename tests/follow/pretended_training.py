"""A program that writes the trace of a training, without torch: arguments say what happens in it.

`clears` clears its gradients from the start, `learns` once the file `told` is there; `ranks` has two of them; `deaf`
goes on after an interrupt, and `saves` says that it saves. It ends some steps after there is a file `enough`.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from torchwhy.finding import SourceSpan
from torchwhy.record.events import SCHEMA, RunStarted, Step
from torchwhy.record.learning import StaleGradients
from torchwhy.record.writer import TraceWriter

SECONDS = 0.01
AFTERWARDS = 60  # steps, for what would be told twice


def header() -> RunStarted:
    return RunStarted(
        schema=SCHEMA,
        pid=os.getpid(),
        rank=0,
        world_size=1,
        argv=sys.argv,
        directory=str(Path.cwd()),
        python="",
        torch="",
        started_unix_seconds=0.0,
    )


def stale(step: int, times: int, *, cleared: bool) -> StaleGradients:
    place = SourceSpan(str(Path.cwd() / "train.py"), 41, expression="optimizer.step()")
    return StaleGradients(
        step=step,
        optimizer=0,
        used_at_step=0,
        times=times,
        cleared_ever=cleared,
        stepped_at=place,
    )


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def train(writers: list[TraceWriter], words: list[str]) -> None:
    step, last = 0, int(os.environ["STEPS"])
    learnt = "learns" not in words
    while step < last:
        for writer in writers:
            writer.write(Step(step=step, optimizer=0, losses=[1.0], milliseconds=1.0))
            if step == 16 and "clears" not in words:
                writer.write(stale(step, 16, cleared=False))
            if not learnt and step >= 60 and Path("told").exists():
                learnt = True
                writer.write(stale(step, 20, cleared=True))
        if step % 50 == 0:
            say(f"step {step}")
            last = min(last, step + AFTERWARDS) if Path("enough").exists() else last
        step += 1
        try:
            time.sleep(SECONDS)
        except KeyboardInterrupt:
            if "deaf" not in words:
                raise


def main() -> None:
    words = sys.argv[1:]
    ranks = 2 if "ranks" in words else 1
    folder = Path(os.environ["TORCHWHY_RUN"])
    try:
        train([TraceWriter(folder, rank=rank, header=header) for rank in range(ranks)], words)
    except KeyboardInterrupt:
        if "saves" not in words:
            raise
        say("saved")


if __name__ == "__main__":
    main()
