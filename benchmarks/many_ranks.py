"""The report of a large job: time, memory, and whether it names the rank at fault.

    python benchmarks/many_ranks.py [ranks steps [folder]]

Traces of 1024 ranks on 128 machines with 100 000 steps each are made (a gigabyte), thinned as the recording thins them;
rank 613 divides by zero in the last step. Then `torchwhy report` reads them, in a process of its own.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.many_ranks import write_job

RANKS, STEPS = 1024, 100_000


def measure(folder: Path, *, ranks: int, steps: int) -> None:
    """Make the traces if they are not there, and print what the report says and takes."""
    if not folder.exists():
        write_job(folder, ranks=ranks, steps=steps, culprit=min(613, ranks - 1))
    size = sum(path.stat().st_size for path in folder.glob("*/rank*"))
    print(f"{ranks} ranks: {size / 1e6:.0f} MB, {size / ranks / steps:.1f} bytes per rank and step")
    began = time.perf_counter()
    command = [sys.executable, "-m", "torchwhy", "report", str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    took = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(ended.stdout + ended.stderr)
    print(
        f"{took:.1f} s, CPU {used.ru_utime + used.ru_stime:.1f} s, at most {used.ru_maxrss / 1024:.0f} MB"
    )


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:3]] or [RANKS, STEPS]
    with tempfile.TemporaryDirectory() as place:
        given = Path(sys.argv[3]) if len(sys.argv) > 3 else Path(place) / "job"
        measure(given, ranks=numbers[0], steps=numbers[1])
