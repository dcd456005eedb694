from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import statements
from torchwhy.detect.rules.message_kinds import FanIn, InitialiserDimensions
from torchwhy.detect.views.crash.crash_evidence import sizes
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.diagnosis import Diagnosis, Shape
from torchwhy.finding import Finding, Fix
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class TooFewDimensions(Diagnosis):
    """An initialiser cannot handle a tensor with so few dimensions."""

    initialiser: str  # its name, or the expression that calls it
    parameter: str | None
    shape: Shape | None

    @property
    def sentence(self) -> str:
        if self.shape is None:
            return f"`{self.initialiser}` cannot initialise this tensor: it needs rows and columns to count"
        what = f"`{self.parameter}`" if self.parameter is not None else "a tensor"
        return (
            f"`{self.initialiser}` cannot initialise {what} of shape {sizes(self.shape)}: it needs at least two "
            "dimensions"
        )

    @property
    def remedies(self) -> tuple[str, ...]:
        return (
            "initialise only parameters with two or more dimensions: `if parameter.dim() > 1:`",
            "set biases to zero: `torch.nn.init.zeros_(layer.bias)`",
        )


class UnsupportedInit(Detector):
    """A weight initialiser got a tensor that it cannot handle, usually a bias."""

    name = "unsupported-init"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if isinstance(crash.said, InitialiserDimensions) and _is_initialiser(crash):
                yield crash.finding(self.name, diagnosed(crash), evidence=crash.operand_evidence)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from statements.only_matrices(finding.location, source)


def _is_initialiser(crash: CrashView) -> bool:
    """Tell whether an initialiser of torch raised it; other functions use similar messages."""
    by_torch = (crash.event.op or "").startswith("torch.nn.init.")
    return isinstance(crash.said, FanIn) or by_torch or crash.fact("initialiser") is not None


def diagnosed(crash: CrashView) -> TooFewDimensions:
    """Return the initialiser and the parameter that it cannot handle."""
    shape = crash.numbers("parameter_shape")
    if shape is None and crash.event.operands:
        shape = crash.event.operands[0].shape
    return TooFewDimensions(
        initialiser=crash.fact("initialiser") or crash.expression,
        parameter=crash.fact("parameter"),
        shape=shape,
    )
