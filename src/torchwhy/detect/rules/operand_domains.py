"""The table of operand rules: the region where an operand must lie, and the cause that is proven if it does not.

No row excludes another: if a birth violates several rows, the most specific one is the cause (`Specificity`).
"""

from __future__ import annotations

import math

from torchwhy.detect.rules.violations import (
    EVERY_PHASE,
    Except,
    Fractions,
    Interval,
    Row,
    Specificity,
    Violation,
    violations,
)
from torchwhy.detect.views.nonfinite.birth_facts import op_name
from torchwhy.detect.views.nonfinite.operand_facts import (
    divisor_of,
    epsilon_of,
    exponent_of_number,
    infinite_operand,
    is_masked,
    is_torchs_update,
    largest_exponent,
    output_type,
    underflowed_operand,
)
from torchwhy.detect.views.nonfinite.range_facts import (
    fits_a_wider_type,
    largest_operand,
    left_the_range,
)
from torchwhy.detect.views.nonfinite.reduction_facts import (
    divides_by_a_count,
    has_too_few,
    is_undefined_class_loss,
    reduces_nothing,
)
from torchwhy.record.events import Birth


def proven(birth: Birth, cause: str) -> Violation | None:
    """Return the most specific row that a birth violates, or None if that row proves another cause."""
    found = violations(birth, ROWS)
    return found[0] if found and found[0].row.cause == cause else None


def bearable_exponents(birth: Birth) -> Interval:
    """Return the operands whose exponential does not overflow, those of float32 for a result in float16.

    If the result would fit into float32, the cause is half-precision-overflow.
    """
    dtype = "float32" if output_type(birth) == "float16" else output_type(birth)
    limit = largest_exponent(birth, dtype)
    return Interval(-limit, limit, closed=True)


def is_fully_masked_softmax(birth: Birth) -> bool:
    """Tell whether a softmax, or attention that contains one, got a row of only -inf."""
    name = op_name(birth)
    is_softmax = name in SOFTMAXES or any(attention in name for attention in ATTENTIONS)
    return birth.fully_infinite_row and is_softmax


def turns_infinity_into_nan(birth: Birth) -> bool:
    """Tell whether an infinite operand became NaN: the record says so, or a number in the call is infinite."""
    if birth.kind == "from-infinity":
        return True
    return birth.value == "nan" and infinite_operand(birth) is not None


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# fmt: off
NORMALISATIONS = _names("native_layer_norm native_group_norm native_batch_norm _fused_rms_norm")
# Solvers divide by the pivots of the matrix, one of which is 0 if the matrix is singular.
SOLVERS = _names(
    "linalg_inv_ex _linalg_solve_ex linalg_lu_solve linalg_solve_triangular linalg_pinv triangular_solve "
    "cholesky_inverse cholesky_solve"
)
SOFTMAXES = _names("softmax _softmax log_softmax _log_softmax _safe_softmax _masked_softmax")
ATTENTIONS = ("scaled_dot_product", "_transformer_encoder_layer_fwd", "_native_multi_head_attention")
CLASS_LOSSES = _names("nll_loss_forward nll_loss2d_forward nll_loss nll_loss2d")

# Backward formulas that divide by the operand of the logarithm.
LOG_NODES = _names(
    "LogBackward Log2Backward Log10Backward Log1PBackward XlogyBackward SpecialXlog1PyBackward SpecialEntrBackward "
    "BinaryCrossEntropyBackward LinalgSlogdetBackward"
)
# Backward formulas that are infinite at the edge of the function's domain.
EDGE_NODES = _names(
    "AcosBackward AsinBackward AtanhBackward AcoshBackward ErfinvBackward LogitBackward LgammaBackward "
    "DigammaBackward PolygammaBackward Atan2Backward SpecialNdtriBackward"
)
# Backward formulas that divide by differences of eigenvalues, or of squared singular values.
DECOMPOSITION_NODES = _names("LinalgSvdBackward LinalgEighBackward LinalgEigBackward")

MADE = _names("operation from-infinity")
OUTSIDE_UPDATES = EVERY_PHASE - {"update"}

NONZERO = Except(0.0)
ZERO = Interval(0.0, 0.0, closed=True)
POSITIVE = Interval(0.0, math.inf)
NOT_NEGATIVE = Interval(0.0, math.inf, closed=True)
ABOVE_MINUS_1 = Interval(-1.0, math.inf)

S = Specificity
LOG, DIVISION, ROOT = "log-of-nonpositive", "division-by-zero", "root-gradient-at-zero"
DOMAIN, EMPTY = "domain-error", "empty-reduction"

ROWS = (
    Row("masked-branch-gradient", "hidden", S.HIDDEN, kinds=MADE, when=is_masked),

    Row("optimizer-epsilon", "update", S.CALLER, phases=_names("update"), when=is_torchs_update,
        operand=divisor_of, needs=NONZERO),
    Row("clip-of-infinite-norm", "norm", S.CALLER, _names("norm linalg_vector_norm"), phases=_names("clip")),
    Row("fully-masked-softmax", "row", S.CALLER, kinds=_names("from-infinity"), when=is_fully_masked_softmax),

    Row("half-precision-underflow", "underflow", S.UNDERFLOW, phases=OUTSIDE_UPDATES,
        operand=underflowed_operand, needs=NONZERO),

    Row(EMPTY, "labels", S.COUNT, CLASS_LOSSES, when=is_undefined_class_loss),
    Row(EMPTY, "deviation", S.COUNT, _names("std var std_mean var_mean"), when=has_too_few),
    Row(EMPTY, "count", S.COUNT, _names("div true_divide"), when=divides_by_a_count, given=(0, ZERO),
        operand=1, needs=NONZERO),
    Row(EMPTY, "nothing", S.EMPTY, when=reduces_nothing),

    Row(LOG, "gradient", S.FORMULA, nodes=LOG_NODES, phases=OUTSIDE_UPDATES, operand=divisor_of, needs=NONZERO),
    Row(ROOT, "root", S.FORMULA, nodes=_names("SqrtBackward"), operand=divisor_of, needs=NONZERO,
        noun="a square root"),
    Row(ROOT, "power", S.FORMULA, _names("pow"), nodes=_names("PowBackward"), given=(1, Interval(-1.0, 0.0)),
        operand=0, needs=NONZERO, noun="a power below 1"),
    Row(ROOT, "root", S.FORMULA, nodes=_names("LinalgVectorNormBackward NormBackward"),
        operand=divisor_of, needs=NONZERO, noun="a norm"),
    Row(ROOT, "root", S.FORMULA, nodes=_names("DistBackward CdistBackward PdistBackward"),
        operand=divisor_of, needs=NONZERO, noun="a distance"),
    Row(ROOT, "root", S.FORMULA, nodes=_names("HypotBackward"), operand=divisor_of, needs=NONZERO,
        noun="a hypotenuse"),
    Row(ROOT, "deviation", S.FORMULA, nodes=_names("StdBackward StdMeanBackward"),
        operand=divisor_of, needs=NONZERO, noun="a standard deviation"),
    Row(DIVISION, "repeated", S.FORMULA, nodes=DECOMPOSITION_NODES, phases=OUTSIDE_UPDATES,
        operand=divisor_of, needs=NONZERO),
    Row(DOMAIN, "exponent", S.FORMULA, _names("log"), nodes=_names("PowBackward"), phases=OUTSIDE_UPDATES),

    Row("half-precision-overflow", "overflow", S.HALF, when=fits_a_wider_type, operand=largest_operand),

    Row(ROOT, "root", S.KERNEL, _names("_cdist_backward _pdist_backward"),
        nodes=_names("CdistBackward PdistBackward"), noun="a distance"),
    Row(LOG, "kernel", S.KERNEL, _names("binary_cross_entropy binary_cross_entropy_backward"),
        phases=OUTSIDE_UPDATES, noun="a probability of exactly 0 or 1"),
    Row(LOG, "kernel", S.KERNEL, _names("_linalg_slogdet"), phases=OUTSIDE_UPDATES, noun="a determinant of 0"),
    Row(DOMAIN, "slope", S.KERNEL, nodes=EDGE_NODES, phases=OUTSIDE_UPDATES),
    Row(DIVISION, "matrix", S.KERNEL, SOLVERS),

    Row(DIVISION, "divisor", S.DIVISION, operand=divisor_of, needs=NONZERO),
    Row(DIVISION, "variance", S.DIVISION, NORMALISATIONS, operand=epsilon_of, needs=NONZERO),
    Row(DIVISION, "length", S.DIVISION, _names("_weight_norm_interface"), operand=0, needs=NONZERO),

    Row(LOG, "logarithm", S.FUNCTION, _names("log log2 log10 special_entr"), phases=OUTSIDE_UPDATES,
        operand=0, needs=POSITIVE),
    Row(LOG, "logarithm", S.FUNCTION, _names("xlogy"), phases=OUTSIDE_UPDATES, operand=1, needs=POSITIVE),
    Row(LOG, "log1p", S.FUNCTION, _names("log1p"), phases=OUTSIDE_UPDATES, operand=0, needs=ABOVE_MINUS_1),
    Row(LOG, "log1p", S.FUNCTION, _names("special_xlog1py"), phases=OUTSIDE_UPDATES, operand=1, needs=ABOVE_MINUS_1),
    Row(DOMAIN, "function", S.FUNCTION, _names("acos asin"), phases=OUTSIDE_UPDATES,
        operand=0, needs=Interval(-1.0, 1.0, closed=True)),
    Row(DOMAIN, "function", S.FUNCTION, _names("atanh erfinv"), phases=OUTSIDE_UPDATES,
        operand=0, needs=Interval(-1.0, 1.0)),
    Row(DOMAIN, "function", S.FUNCTION, _names("acosh"), phases=OUTSIDE_UPDATES,
        operand=0, needs=Interval(1.0, math.inf, closed=True)),
    Row(DOMAIN, "function", S.FUNCTION, _names("logit special_ndtri"), phases=OUTSIDE_UPDATES,
        operand=0, needs=Interval(0.0, 1.0)),
    Row(DOMAIN, "function", S.FUNCTION, _names("lgamma digamma rsqrt"), phases=OUTSIDE_UPDATES,
        operand=0, needs=POSITIVE),
    Row(DOMAIN, "function", S.FUNCTION, _names("polygamma"), phases=OUTSIDE_UPDATES, operand=1, needs=POSITIVE),
    Row(DOMAIN, "function", S.FUNCTION, _names("sqrt"), phases=OUTSIDE_UPDATES, operand=0, needs=NOT_NEGATIVE),
    Row(DOMAIN, "power", S.FUNCTION, _names("pow"), phases=OUTSIDE_UPDATES, given=(1, Fractions()),
        operand=0, needs=NOT_NEGATIVE),

    Row("exp-overflow", "exponent", S.EXPONENT,
        _names("exp expm1 exp2 cosh sinh special_exp2 special_expm1 i0 special_i1"),
        operand=0, needs=bearable_exponents),
    Row("exp-overflow", "exponent", S.EXPONENT, _names("pow"), operand=exponent_of_number, needs=bearable_exponents),

    Row("infinity-arithmetic", "infinity", S.INFINITY, kinds=MADE, phases=EVERY_PHASE - {"clip", "accumulate"},
        when=turns_infinity_into_nan, operand=infinite_operand),

    Row("float-overflow", "range", S.RANGE, when=left_the_range, operand=largest_operand),
)
# fmt: on
