"""The rendered report of a program, pinned in a file beside it.

The file holds the numbers of the machine that wrote it. Measured numbers differ between machines, and with them
the place where a line wraps, so the comparison leaves both out: it reads words, whole numbers, signs and diffs. It
leaves out the version of torch, too. Where a report rightly depends on Python or torch, there are files for `VARIANTS`.
"""

from __future__ import annotations

import difflib
import io
import os
import re
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

from tests.support.run_program import RUN, Outcome, tell
from torchwhy.finding import Fix
from torchwhy.report.model import Report
from torchwhy.report.text.terminal import EVIDENCE_SHOWN, Place, show
from torchwhy.verify.candidates import candidates


def is_built_with_cuda() -> bool:
    """Tell whether torch has code for CUDA, without importing torch."""
    torch = find_spec("torch")
    assert torch is not None
    assert torch.origin is not None
    return (
        "cuda: Optional[str] = None" not in Path(torch.origin).with_name("version.py").read_text()
    )


FLOAT = re.compile(r"(?<![\w.])[-+]?(\d+\.\d+(e[-+]?\d+)?|\d+e[-+]?\d+)(?!\w)")
MEASURED = re.compile(
    r"(?<![\w.])\d+(?= ?(?:×(?!\d)|MB|%))"
)  # a ratio, a share or an amount of memory
BAD_ELEMENTS = re.compile(
    r"\d+ (?=NaN|[-+]inf)|(?<=first at )\[[\d, ]+\]"
)  # Sums of huge numbers overflow to either side, by the order in which a kind of CPU adds them.
CHECKS_MADE = re.compile(
    r"\(\d+ of \d+(?= checks)"
)  # Experiments may be refused on a busy machine.
MEMORY = re.compile(
    r"[·.] meanwhile the memory of the process grew by .*? per 1000 steps"
)  # Shown where it grew by enough, which depends on the allocator.
TORCH = re.compile(r"(?<![\w.])\d+\.\d+\.\d+\+\w+")  # 2.13.0+cpu
CURVE = re.compile("[▁▂▃▄▅▆▇█]+")
RULE = re.compile("─+")
NUMBER = re.compile(r"[-+]?(\d+|#)")
# `name.report.monitored.txt` takes the place of `name.report.txt` where it is there and its variant is given here.
VARIANTS = {
    "monitored": sys.version_info >= (3, 12),  # caught exceptions are seen from the first one on
    "fused": sys.version_info
    >= (3, 13),  # a comparison and its truth are one instruction, so one place
    "reworded": sys.version_info >= (3, 14),  # Python's own messages have other words
    "cuda": is_built_with_cuda(),  # what is missing is the device, not torch's code for it
}
# Kinds of CPU round differently, and these programs amplify it: steps, counts, losses and the order of names differ.
CHAOTIC = {
    "domain-error/broken/geodesic_loss_acos",
    "learning-rate-too-high/broken/decay_saves_the_end",
    "learning-rate-too-high/broken/rate_of_a_warmup_by_hand",
    "learning-rate-too-high/broken/rate_of_the_generator_only",
    "log-of-nonpositive/broken/variance_through_relu_reaches_zero",
    "momentum-too-high/broken/momentum_carries_the_weights_to_infinity",
}
CAUSE = re.compile(r"\b(?:error|warning|note)[ \[][a-z][\w-]+|\b\w+\.py:\d+")
ANY_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")
PROPOSED = "--- proposed changes"
FURTHER = "--- findings in full"


def render(outcome: Outcome) -> str:
    """Return what the terminal shows, every finding in full, and the changes that `torchwhy fix` would try."""
    directory = outcome.run_directory.parents[len(RUN.parts) - 1]
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf8")
    plain = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    with mock.patch.dict(os.environ, plain, clear=True):
        show(outcome.report, Place(Path("RUN"), directory), stream)
    stream.seek(0)
    parts = [stream.read().rstrip(), *_findings(outcome.report), *_proposals(outcome)]
    return "\n".join(parts).replace(str(directory), "FOLDER") + "\n"


def _findings(report: Report) -> Iterator[str]:
    """Yield the findings of which the terminal shows only a line, or not all evidence."""
    nested = {report.id_of(below) for finding in report.findings for below in finding.explains}
    shown = [finding for finding in report.findings if report.id_of(finding) not in nested]
    root = report.root_cause
    if root is not None and len(root.evidence) <= EVIDENCE_SHOWN:
        shown = [*root.explains, *shown[1:]]
    if shown:
        yield FURTHER
    for finding in shown:
        yield from tell(finding)


def proposed(outcome: Outcome) -> list[Fix]:
    """Return the changes that `torchwhy fix` would try; several tests ask, so they are worked out once."""
    if outcome.run_directory not in _PROPOSED:
        root = outcome.report.root_cause
        directory = outcome.run_directory.parents[len(RUN.parts) - 1]
        _PROPOSED[outcome.run_directory] = [] if root is None else candidates(root, directory)
    return _PROPOSED[outcome.run_directory]


_PROPOSED: dict[Path, list[Fix]] = {}


def _proposals(outcome: Outcome) -> Iterator[str]:
    changes = proposed(outcome)
    if changes:
        yield PROPOSED
    for change in changes:
        yield f"{change.title} ({change.safety})"
        yield change.diff.rstrip()


def pinned_file(snapshot: Path) -> Path:
    """Return the file that pins a report here: that of a variant, or the common one."""
    own = [variant_of(snapshot, name) for name, is_given in VARIANTS.items() if is_given]
    return next((path for path in own if path.exists()), snapshot)


def variant_of(snapshot: Path, name: str) -> Path:
    """Return the file for a report where one variant is given."""
    return snapshot.with_name(f"{snapshot.name.removesuffix('.txt')}.{name}.txt")


def differences(pinned: str, new: str, *, chaotic: bool = False) -> list[str]:
    """Return the lines of a diff between two reports that say different things; nothing if only numbers differ.

    Of a chaotic program only causes, places and changes are compared.
    """
    if _same_words(_words(pinned), _words(new)):
        return []
    if chaotic and _causes(pinned) == _causes(new):
        return []
    return list(difflib.unified_diff(pinned.splitlines(), new.splitlines(), "pinned", "new", n=1))


def _words(report: str) -> list[str]:
    masked = CHECKS_MADE.sub("(#", CURVE.sub("▁", RULE.sub("─", report)))
    masked = BAD_ELEMENTS.sub("# ", masked)
    masked = MEASURED.sub("#", FLOAT.sub("#", TORCH.sub("TORCH", masked)))
    return MEMORY.sub("", " ".join(masked.split())).split()


def _causes(report: str) -> list[str]:
    """Return the causes and places that a report names, and its changes without their numbers."""
    told, _, changes = report.partition(PROPOSED)
    return [*CAUSE.findall(" ".join(told.split())), *ANY_NUMBER.sub("#", changes).split()]


def _same_words(pinned: list[str], new: list[str]) -> bool:
    return len(pinned) == len(new) and all(map(_same_word, pinned, new))


def _same_word(pinned: str, new: str) -> bool:
    """Tell whether two words are one, or a measured number that happens to be whole on one machine."""
    if pinned == new:
        return True
    is_measured = "#" in pinned or "#" in new
    return is_measured and NUMBER.sub("#", pinned) == NUMBER.sub("#", new)
