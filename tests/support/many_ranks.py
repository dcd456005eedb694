"""Traces of a large job, thinned as the recording thins them, with one rank at fault.

The events besides steps are those of a real run of two ranks (`recorded_ranks/`, made by
tests/guest/programs/two_ranks.py with the argument `zeros`): rank 1 divides by zero in its last step, and the reduction
of gradients carries the NaN to rank 0. Every other rank gets the events of rank 0.
"""

from __future__ import annotations

import random
import re
import struct
from pathlib import Path

from torchwhy.record.run_file import Run, write_run
from torchwhy.record.step_log import ALL_BEFORE, SLOTS

RECORDED = Path(__file__).parent / "recorded_ranks"
FAILED_STEP = 3
OWN_STEP = re.compile(rb'"step":(\d+)')
HEADER = re.compile(rb'"pid":\d+,"rank":\d+,"world_size":\d+,')


def write_job(
    folder: Path, *, ranks: int, steps: int, culprit: int, ranks_per_host: int = 8
) -> list[Path]:
    """Write a folder for each host of a job whose step `steps` fails on rank `culprit`; return the folders."""
    lines_of_steps = _recorded_steps(steps)
    templates = [_template(rank, steps) for rank in (0, 1)]
    nodes = []
    for rank in range(ranks):
        node = folder / f"host-{rank // ranks_per_host}"
        if not nodes or nodes[-1] != node:
            node.mkdir(parents=True)
            command = ("torchrun", f"--nnodes={ranks // ranks_per_host}", "train.py")
            write_run(node, Run(command, "/train", exit_code=1, seconds=9.0))
            nodes.append(node)
        before, after = templates[rank == culprit]
        run = b'"pid":%d,"rank":%d,"world_size":%d,"host":"%s",' % (
            *(7000 + rank, rank, ranks),
            node.name.encode(),
        )
        path = node / f"rank{rank}.jsonl"
        path.write_bytes(HEADER.sub(run, before) + _steps(lines_of_steps, rank) + after)
        if steps > ALL_BEFORE:
            _write_ring(path.with_suffix(".recent"), steps)
    return nodes


def _recorded_steps(steps: int) -> list[int]:
    """Return the steps that get a line, as `StepLog` chooses them."""
    chosen, following = [], 0
    for step in range(steps):
        if step >= following:
            chosen.append(step)
            following = step + 1 + step // ALL_BEFORE
    return chosen


def _template(rank: int, last: int) -> tuple[bytes, bytes]:
    """Return the lines before and after the steps; those of the step that failed are now of step `last`."""
    before, after = [], []
    for line in (RECORDED / f"rank{rank}.jsonl").read_bytes().splitlines(keepends=True):
        own = OWN_STEP.search(line)
        is_late = own is not None and int(own[1]) == FAILED_STEP
        if line.startswith(b'{"event":"step",') and not is_late:
            continue
        if line.startswith(b'{"event":"end"'):
            after.append(line.replace(b'"steps":3', b'"steps":%d' % last))
        elif is_late:
            after.append(OWN_STEP.sub(b'"step":%d' % last, line))
        else:
            (after or before).append(line)
    return b"".join(before), b"".join(after)


def _steps(chosen: list[int], seed: int) -> bytes:
    noise = random.Random(seed)
    return b"".join(
        b'{"event":"step","step":%d,"optimizer":0,"losses":[%.9g],"milliseconds":%.3f}\n'
        % (step, 0.5 + 2 / (1 + step / 500) + 0.1 * noise.random(), 250 + noise.random())
        for step in chosen
    )


def _write_ring(path: Path, steps: int) -> None:
    slots = bytearray()
    for place in range(SLOTS):
        newest = steps - 1 - (steps - 1 - place) % SLOTS
        slots += struct.pack("<qqdd", newest + 1, 0, 0.55, 250.0)
    path.write_bytes(slots)
