from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.training import optimizers
from torchwhy.detect.views.nonfinite.birth_facts import (
    finding_from,
    op_name,
    tensors,
    value_at_born,
)
from torchwhy.detect.views.nonfinite.operand_facts import ROUNDS_TO_ZERO
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth, OptimizerMade
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

DIVIDING = frozenset({"addcdiv", "div", "addcdiv_list"})
FUSED = ("_fused_adam", "_fused_adamw", "_fused_adagrad")


class OptimizerEpsilon(Detector):
    """The optimizer's own update divided by zero: its epsilon is 0, or rounds to 0 in the weights' type."""

    name = "optimizer-epsilon"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for birth in trace.births:
            if birth.phase != "update" or birth.kind != "operation" or not _divides_by_zero(birth):
                continue
            optimizer = _optimizer_with_vanishing_epsilon(trace, birth)
            if optimizer is not None:
                yield self._finding(trace, birth, optimizer=optimizer)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from optimizers.set_to(finding.location, source, "eps", ("1e-8", "1e-4"))

    def _finding(self, trace: Trace, birth: Birth, *, optimizer: OptimizerMade) -> Finding:
        epsilon, dtype = _epsilon(optimizer), _dtype(birth)
        reason = "is 0" if epsilon == 0 else f"= {epsilon:g} is 0 in {dtype}"
        weight = next(
            (target for target in birth.reaches if target.startswith("parameter")), "the weights"
        )
        message = (
            f"{optimizer.kind} divided by zero in its own update of {weight}: its eps {reason}, and the gradient "
            "there has been too small to show in its running square"
        )
        evidence = [
            Evidence(f"eps {reason}", value=epsilon, step=birth.step, location=optimizer.location),
            Evidence(
                "loss and gradients are finite; this update made the value", location=birth.location
            ),
        ]
        title = (
            f"give {optimizer.kind} an eps that {dtype} can hold (1e-4 for float16, 1e-8 for float32), "
            "or keep the weights in float32 and use autocast"
        )
        found = finding_from(trace, birth, detector=self.name, message=message, evidence=evidence)
        return replace(
            found,
            location=optimizer.location or birth.location,
            fixes=(Fix(title, safety="show-only"),),
        )


def _divides_by_zero(birth: Birth) -> bool:
    """The divisor is the last tensor; a fused kernel shows none, and does nothing else that could fail."""
    name = op_name(birth)
    if birth.op.split(".")[1].startswith(FUSED):
        return True
    if name not in DIVIDING:
        return False
    operands = tensors(birth)
    divisor = value_at_born(operands[-1]) if operands else None
    return divisor == 0 or (divisor is None and "_foreach" in birth.op)


def _optimizer_with_vanishing_epsilon(trace: Trace, birth: Birth) -> OptimizerMade | None:
    for source in (trace.rerun, trace):
        for optimizer in source.of(OptimizerMade) if source else []:
            epsilon = _epsilon(optimizer)
            if epsilon is not None and epsilon <= ROUNDS_TO_ZERO.get(_dtype(birth), 0.0):
                return optimizer
    return None


def _epsilon(optimizer: OptimizerMade) -> float | None:
    value = optimizer.defaults.get("eps")
    if value is None or isinstance(value, bool):
        return None
    return decode(value)


def _dtype(birth: Birth) -> str:
    return birth.output.dtype.removeprefix("torch.") if birth.output else "float32"
