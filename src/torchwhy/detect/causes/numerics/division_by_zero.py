from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import shapes
from torchwhy.detect.fixes.values import bounds, guards
from torchwhy.detect.views.nonfinite.birth_facts import op_name
from torchwhy.detect.views.nonfinite.judging import (
    Verdict,
    expression_of,
    findings_by_place,
    forward_operand,
    name_of,
    operand_fact,
    samples_of,
)
from torchwhy.detect.views.nonfinite.operand_facts import (
    DOMAIN_NODES,
    LOG_NODES,
    ROOT_NODES,
    argument,
    arguments,
    is_formula,
    is_masked,
    is_torchs_update,
    node_of,
    underflowed_operand,
    value_of,
    zero_divisor,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth, Operand
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

NORMALISATIONS = frozenset(
    {"native_layer_norm", "native_group_norm", "native_batch_norm", "_fused_rms_norm"}
)
# They divide by the pivots of the matrix, one of which is 0 when the matrix is singular.
SOLVERS = frozenset(
    {
        "linalg_inv_ex",
        "_linalg_solve_ex",
        "linalg_lu_solve",
        "linalg_solve_triangular",
        "linalg_pinv",
        "triangular_solve",
        "cholesky_inverse",
        "cholesky_solve",
    }
)


class DivisionByZero(Detector):
    """A number was divided by exactly zero."""

    name = "division-by-zero"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from bounds.for_every_use(finding, source)
        yield from guards.for_division(finding, source)
        yield from shapes.eps_where_made(finding, source)


def judge(birth: Birth) -> Verdict | None:
    """Recognise a birth that divides by 0 and that no more specific cause claims."""
    if birth.kind != "operation" or is_torchs_update(birth) or is_masked(birth):
        return None
    if (
        node_of(birth) in LOG_NODES | ROOT_NODES | DOMAIN_NODES
        or underflowed_operand(birth) is not None
    ):
        return None
    if op_name(birth) in NORMALISATIONS:
        return judge_normalisation(birth)
    if op_name(birth) in SOLVERS:
        return judge_solver(birth)
    if op_name(birth) == "_weight_norm_interface":
        return judge_weight_norm(birth)
    divided_by = zero_divisor(birth)
    if divided_by is None or is_gradient_of_root(birth) or is_mean_of_nothing(birth):
        return None
    name = (
        forward_operand(birth, 1)
        if is_formula(birth)
        else name_of(divided_by, otherwise="its divisor")
    )
    way = "the gradient of " if is_formula(birth) else ""
    return Verdict(
        f"{way}{expression_of(birth)} divides by zero: {name} was exactly 0{samples_of(birth)}",
        (operand_fact(birth, divided_by, 0.0), *_range_of(birth, divided_by)),
        f"keep {name} away from 0 before dividing: add a small constant that fits its scale, clamp it, or "
        f"replace the zeros with torch.where first",
    )


def _range_of(birth: Birth, divisor: Operand) -> Iterator[Evidence]:
    """Yield where the other elements of a divisor lie: one of both signs must not be clamped."""
    facts = divisor.tensor
    if facts is None or facts.minimum is None or facts.maximum is None:
        return
    if facts.minimum < facts.maximum:
        claim = f"its elements lie between {facts.minimum:.6g} and {facts.maximum:.6g}"
        yield Evidence(claim, step=birth.step)


def is_gradient_of_root(birth: Birth) -> bool:
    """Tell whether this is x ** p at 0 with 0 < p < 1: its derivative raises 0 to a power between -1 and 0."""
    exponent = value_of(argument(birth, 1))
    return node_of(birth) == "PowBackward" and exponent is not None and -1 < exponent < 0


def is_mean_of_nothing(birth: Birth) -> bool:
    """Tell whether 0 is divided by a whole number that counted nothing: that is `empty-reduction`."""
    counted = argument(birth, 1)
    if counted is None or counted.tensor is None or birth.node is not None:
        return False
    return (
        counted.tensor.dtype.startswith(("int", "uint", "bool"))
        and value_of(argument(birth, 0)) == 0
    )


def judge_normalisation(birth: Birth) -> Verdict | None:
    """Recognise a normalisation of a constant group: its variance is 0, and so is its eps."""
    scalars = [operand for operand in arguments(birth) if operand.argument == "eps"]
    numbers = scalars or [operand for operand in arguments(birth) if operand.tensor is None]
    epsilon = value_of(numbers[-1]) if numbers else None
    if epsilon != 0:
        return None
    name = name_of(argument(birth, 0), otherwise="its input")
    return Verdict(
        f"{expression_of(birth)} divides by a variance of zero: {name} is constant there and eps is 0",
        (Evidence("eps was 0", value=0.0, step=birth.step),),
        "give the normalisation a positive eps, such as its default 1e-5",
    )


def judge_weight_norm(birth: Birth) -> Verdict | None:
    """Recognise a weight that `weight_norm` divides by its own length, and that is zero."""
    direction = argument(birth, 0)
    if value_of(direction) != 0:
        return None
    name = name_of(direction, otherwise="the weight")
    return Verdict(
        f"weight_norm divides {name} by its length, which is zero, in {expression_of(birth)}",
        (operand_fact(birth, direction, 0.0),),
        "initialise the weight with something else than zeros before weight_norm, or set only its gain to zero",
    )


def judge_solver(birth: Birth) -> Verdict:
    """Describe the inverse of a singular matrix."""
    name = name_of(argument(birth, 0), otherwise="its matrix")
    return Verdict(
        f"{expression_of(birth)} inverts a singular matrix: a pivot of {name} is zero",
        (operand_fact(birth, argument(birth, 0), value_of(argument(birth, 0))),),
        f"add a small multiple of the identity to {name}, or use torch.linalg.lstsq",
    )
