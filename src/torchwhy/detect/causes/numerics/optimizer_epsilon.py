from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.training import optimizers
from torchwhy.detect.views.nonfinite.birth_facts import (
    finding_from,
    op_name,
    tensors,
    value_at_born,
)
from torchwhy.detect.views.nonfinite.operand_facts import ROUNDS_TO_ZERO
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.events import Birth, OptimizerMade
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

DIVIDING = frozenset({"addcdiv", "div", "addcdiv_list"})
FUSED = ("_fused_adam", "_fused_adamw", "_fused_adagrad")


class VanishingEpsilon(Diagnosis):
    """An optimizer divided by its eps alone, and its eps is 0 in the dtype of the weights."""

    optimizer: str
    weight: str
    epsilon: float
    dtype: str
    step: int
    made_at: SourceSpan | None
    updated_at: SourceSpan | None
    message = (
        "{optimizer} divided by zero when it updated {weight}: its eps {reason}, and the gradients "
        "there were too small to register in its running square"
    )
    advice = (
        "give {optimizer} an eps that {dtype} can represent (1e-4 for float16, 1e-8 for float32), "
        "or keep the weights in float32 and use autocast"
    )

    @property
    def reason(self) -> str:
        return "is 0" if self.epsilon == 0 else f"= {self.epsilon:g} is 0 in {self.dtype}"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"eps {self.reason}", value=self.epsilon, step=self.step, location=self.made_at
        )
        yield Evidence(
            "the loss and the gradients are finite; this update produced the value",
            location=self.updated_at,
        )


class OptimizerEpsilon(Detector):
    """The optimizer's update divided by zero: its epsilon is 0, or rounds to 0 in the dtype of the weights."""

    name = "optimizer-epsilon"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for birth in trace.births:
            if birth.phase != "update" or birth.kind != "operation" or not _divides_by_zero(birth):
                continue
            for optimizer, epsilon in _optimizers(trace):
                if epsilon <= ROUNDS_TO_ZERO.get(_dtype(birth), 0.0):
                    yield self._finding(trace, birth, optimizer=optimizer, epsilon=epsilon)
                    break

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from optimizers.set_to(finding.location, source, "eps", ("1e-8", "1e-4"))

    def _finding(
        self, trace: Trace, birth: Birth, *, optimizer: OptimizerMade, epsilon: float
    ) -> Finding:
        weights = (target for target in birth.reaches if target.startswith("parameter"))
        diagnosis = VanishingEpsilon(
            optimizer=optimizer.kind,
            weight=next(weights, "the weights"),
            epsilon=epsilon,
            dtype=_dtype(birth),
            step=birth.step,
            made_at=optimizer.location,
            updated_at=birth.location,
        )
        return finding_from(
            trace, birth, detector=self.name, diagnosis=diagnosis, location=optimizer.location
        )


def _divides_by_zero(birth: Birth) -> bool:
    """Tell whether the update divided by zero.

    The divisor is the last tensor. A fused kernel shows no divisor, but can fail in no other way.
    """
    name = op_name(birth)
    if birth.op.split(".")[1].startswith(FUSED):
        return True
    if name not in DIVIDING:
        return False
    operands = tensors(birth)
    divisor = value_at_born(operands[-1]) if operands else None
    return divisor == 0 or (divisor is None and "_foreach" in birth.op)


def _optimizers(trace: Trace) -> Iterator[tuple[OptimizerMade, float]]:
    """Yield the optimizers that have an eps, each with its eps."""
    for source in (trace.rerun, trace):
        for optimizer in source.of(OptimizerMade) if source else []:
            epsilon = optimizer.defaults.get("eps")
            if epsilon is not None and not isinstance(epsilon, bool):
                yield optimizer, decode(epsilon)


def _dtype(birth: Birth) -> str:
    return birth.output.dtype.removeprefix("torch.") if birth.output else "float32"
