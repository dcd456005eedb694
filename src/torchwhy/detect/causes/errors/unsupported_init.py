from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import statements
from torchwhy.detect.views.crash.crash_facts import (
    crashes,
    expression_of,
    finding_of,
    idea,
    operand_evidence,
    says,
    sizes,
)
from torchwhy.finding import Finding, Fix
from torchwhy.record.events import Crash
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

PATTERNS = (
    r"Fan in and fan out can not be computed for tensor with fewer than 2 dimensions",
    r"Only tensors with 2 or more dimensions are supported",
    r"Only tensors with 2 dimensions are supported",
    r"Only tensors with 3, 4, or 5 dimensions are supported",
)


class UnsupportedInit(Detector):
    """A weight initialiser was given a tensor it has no rule for, mostly a bias."""

    name = "unsupported-init"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if any(says(crash, pattern) for pattern in PATTERNS) and _is_initialiser(crash):
                yield finding_of(
                    trace,
                    crash,
                    detector=self.name,
                    message=_message(crash),
                    evidence=operand_evidence(crash),
                    fixes=[
                        idea(
                            "initialise only parameters with two or more dimensions: `if parameter.dim() > 1:`"
                        ),
                        idea("set biases to zero: `torch.nn.init.zeros_(layer.bias)`"),
                    ],
                )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from statements.only_matrices(finding, source)


def _is_initialiser(crash: Crash) -> bool:
    """Tell whether an initialiser of torch said so; other functions refuse dimensions in like words."""
    if "initialiser" in crash.facts or says(crash, PATTERNS[0]):
        return True
    return "init" in f"{crash.op} {expression_of(crash)}"


def _message(crash: Crash) -> str:
    name, shape = crash.facts.get("parameter"), crash.facts.get("parameter_shape")
    how = crash.facts.get("initialiser")
    rule = f"`{how}`" if isinstance(how, str) else f"`{expression_of(crash)}`"
    what = f"`{name}`" if isinstance(name, str) else "a tensor"
    if not isinstance(shape, list):
        shape = crash.operands[0].shape if crash.operands else None
    if shape is None:
        return f"{rule} cannot initialise this tensor: it needs rows and columns to count"
    return (
        f"{rule} cannot initialise {what} of shape {sizes(shape)}: it needs at least two dimensions"
    )
