"""python -m tests.fuzz PART… --seeds 0:200 --minutes 10: fuzz for long, and print a table of each part."""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz import killer, mutants, pairs, tamperer
from tests.support.children import Zygote
from tests.support.damaged_runs import MOST_MEMORY

ROUNDS_PER_SEED = 10


def main() -> int:
    """Run the parts one after another; exit 1 if one of them found something."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    parser.add_argument("--seeds", default="0:100", help="FROM:TO, as a slice")
    parser.add_argument("--minutes", type=float, default=10.0, help="for each part")
    options = parser.parse_args()
    first, _, last = options.seeds.partition(":")
    folder = Path(tempfile.mkdtemp(prefix="torchwhy-fuzz-"))
    zygote = Zygote()
    found = 0
    for part in options.parts:
        until = time.monotonic() + 60 * options.minutes
        seeds = _until(range(int(first), int(last)), until)
        found += PARTS[part](seeds, zygote=zygote, folder=folder / part)
    zygote.close()
    return 1 if found else 0


def _until(seeds: range, when: float) -> Iterator[int]:
    for seed in seeds:
        if time.monotonic() > when:
            say(f"time is over before seed {seed}")
            return
        yield seed


def say(text: str) -> None:
    """Print a line at once; long runs are read while they run."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def run_pairs(seeds: Iterator[int], *, zygote: Zygote, folder: Path) -> int:
    """Compare bare and watched runs."""
    compared = []
    for seed in seeds:
        one = pairs.compare(seed, zygote=zygote, folder=folder / str(seed))
        compared.append(one)
        if not one.is_good:
            say(one.describe())
    for line in pairs.table(compared):
        say(line)
    return sum(not one.is_good for one in compared)


def run_mutants(seeds: Iterator[int], *, zygote: Zygote, folder: Path) -> int:
    """Try every fault with each seed."""
    judged = []
    for seed in seeds:
        for number, fault in enumerate(mutants.FAULTS):
            place = folder / f"{seed}-{number}"
            one = mutants.try_mutant(fault, seed, zygote=zygote, folder=place)
            judged.append(one)
            if one.verdict != "named":
                say(one.describe())
    for line in mutants.table(judged):
        say(line)
    return sum(one.verdict != "named" for one in judged)


def run_kills(seeds: Iterator[int], *, zygote: Zygote, folder: Path) -> int:
    """Hit programs with signals."""
    hits = []
    for seed in seeds:
        one = killer.hit(seed, zygote=zygote, folder=folder / str(seed))
        hits.append(one)
        if one.problems:
            say(one.describe())
    for line in killer.table(hits):
        say(line)
    return sum(bool(one.problems) for one in hits)


def run_tampering(seeds: Iterator[int], *, zygote: Zygote, folder: Path) -> int:
    """Damage run directories, ten for each seed."""
    runs = tamperer.record_runs(zygote, folder)
    # A damaged file must not make a command ask for more; the zygote and its programs need theirs.
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, resource.RLIM_INFINITY))
    rounds = []
    for seed in seeds:
        for one in tamperer.tamper(runs, seed=seed, count=ROUNDS_PER_SEED):
            rounds.append(one)
            if one.problems:
                say(
                    ascii(
                        f"{one.number} {one.command} {one.damage}: {one.problems} {one.shown[-300:]}"
                    )
                )
    for line in tamperer.table(rounds):
        say(line)
    return sum(bool(one.problems) for one in rounds)


PARTS = {
    "pairs": run_pairs,
    "mutants": run_mutants,
    "kills": run_kills,
    "tampering": run_tampering,
}

if __name__ == "__main__":
    sys.exit(main())
