from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.rules.message_kinds import (
    Dtypes,
    IndexDtype,
    MeanOfIntegers,
    UnsupportedDtype,
)
from torchwhy.detect.rules.torch_layers import EMBEDDINGS
from torchwhy.detect.rules.torch_messages import dtypes_in
from torchwhy.detect.views.crash.crash_evidence import at, origin_of
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.events import NamedTensor
from torchwhy.record.trace import Trace
from torchwhy.source.calls import word_of
from torchwhy.source.values import expression_of

NUMPY_DEFAULT = "float64"
REFUSED = ("Long", "Int", "Bool", "Half", "Byte", "Double", "Short", "Char", "BFloat16")
MOST_FIXES = 3
INDICES = ("index", "indices")  # torch's names for an argument of indices
FACTORIES = ("zeros", "ones", "empty", "full")


class TypesMixed(Diagnosis):
    """An operation got tensors of different dtypes; which one is wrong is unknown."""

    expression: str
    from_dataset: str | None = None  # the float64 field of the dataset
    message = "{expression} mixes dtypes"

    @property
    def remedies(self) -> tuple[str, ...]:
        if self.from_dataset is None:
            return ()
        return (f"convert the dataset to float32 once: `{self.from_dataset}.astype(np.float32)`",)


class MeanOfWholeNumbers(TypesMixed):
    """An operation takes the mean of integers."""

    message = "{expression} takes the mean of integers, but a mean needs a floating point dtype"

    @property
    def remedies(self) -> tuple[str, ...]:
        return ("convert to floating point first: `.float().mean()`",)


class IndexNotWhole(TypesMixed):
    """An index does not have an integer dtype."""

    tensor: str
    dtype: str
    message = "{tensor} is {dtype}, but {expression} needs integers (int64) as indices"

    @property
    def remedies(self) -> tuple[str, ...]:
        return ("convert the indices where they are made, or here: `.long()`", *super().remedies)


class ComplexRefused(TypesMixed):
    """An operation takes no complex numbers beside its real ones."""

    tensor: str
    dtype: str
    layer: str | None
    other_dtype: str
    message = (
        "{tensor} is {dtype}, but {others} {other_dtype}: {expression} takes no complex numbers"
    )
    advice = (
        "say which part is meant: `.real` if the imaginary part is 0 in theory (`torch.fft.rfft` with "
        "`torch.fft.irfft` keeps it so), `.abs()` for the magnitude, or `torch.view_as_real` for both"
    )

    @property
    def others(self) -> str:
        """Return the weights or tensors that are real, with the verb."""
        return f"{self.layer}'s weights are" if self.layer is not None else "the others are"

    @property
    def remedies(self) -> tuple[str, ...]:
        return (self.advice,)


class TypesDiffer(TypesMixed):
    """One tensor has another dtype than the others of the operation."""

    tensor: str
    dtype: str
    layer: str | None  # the layer that got the tensor
    other: str | None  # the tensor of the other dtype, if it is a single one
    other_dtype: str
    is_made_empty: bool  # by a factory, which can take the dtype
    message = "{tensor} is {dtype}, but {others} {other_dtype}: {expression} needs equal dtypes"

    @property
    def others(self) -> str:
        """Return the weights or tensors of the other dtype, with the verb."""
        if self.layer is not None:
            return f"{self.layer}'s weights are"
        return "the others are" if self.other is None else f"{self.other} is"

    @property
    def remedies(self) -> tuple[str, ...]:
        if not self.is_made_empty:
            return super().remedies
        is_name = self.other is not None and self.other.isidentifier()
        dtype = f"{self.other}.dtype" if is_name else f"torch.{self.other_dtype}"
        return (f"make {self.tensor} with `dtype={dtype}`",)


class DtypeMismatch(Detector):
    """An operation that needs equal dtypes got tensors of different dtypes."""

    name = "dtype-mismatch"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if crash.is_in_loader or crash.is_about_labels or crash.working("swap-arguments"):
                continue
            match crash.said:
                case UnsupportedDtype(dtype=dtype) if dtype not in REFUSED:
                    continue
                case Dtypes():
                    yield self._finding(crash)

    def _finding(self, crash: CrashView) -> Finding:
        odd, others = _odd_one(crash)
        found = crash.finding(
            self.name,
            diagnosed(crash, odd, others),
            evidence=[*_source(crash, odd), *crash.operand_evidence, *crash.walk_evidence],
            location=crash.loss_expression,
            fixes=crash.fixes("cast-input", "float-target"),
        )
        return replace(found, fixes=found.fixes[:MOST_FIXES])


def diagnosed(crash: CrashView, odd: NamedTensor | None, others: str) -> TypesMixed:
    """Return which tensor has another dtype than the others."""
    what, layer = crash.expression, crash.layer
    is_numpys = odd is not None and odd.dtype == NUMPY_DEFAULT
    field = crash.fact("dataset_field") if is_numpys else None
    if isinstance(crash.said, MeanOfIntegers):
        return MeanOfWholeNumbers(expression=what)
    if odd is None:
        return TypesMixed(expression=what)
    if isinstance(crash.said, IndexDtype) or (layer is not None and layer.kind in EMBEDDINGS):
        return IndexNotWhole(expression=what, from_dataset=field, tensor=odd.name, dtype=odd.dtype)
    refusing = crash.refusing_layer
    if odd.dtype.startswith("complex") and not others.startswith("complex"):
        return ComplexRefused(
            expression=what,
            tensor=odd.name,
            dtype=odd.dtype,
            layer=refusing.path if refusing is not None else None,
            other_dtype=others or "float32",
        )
    return TypesDiffer(
        expression=what,
        from_dataset=field,
        tensor=odd.name,
        dtype=odd.dtype,
        layer=refusing.path if refusing is not None else None,
        other=_only_other(crash, others),
        other_dtype=others or "float32",
        is_made_empty=_is_made_empty(odd),
    )


def _only_other(crash: CrashView, dtype: str) -> str | None:
    """Return the name of the operand of a dtype if there is one such operand."""
    named = {tensor.name for tensor in crash.event.operands if tensor.dtype == dtype}
    return named.pop() if len(named) == 1 else None


def _odd_one(crash: CrashView) -> tuple[NamedTensor | None, str]:
    """Return the tensor whose dtype differs from the weights or from most others, and the dtype of the others."""
    operands, inputs = crash.event.operands, crash.event.inputs
    given = crash.layer_input.tensor
    if given is not None:
        if not crash.layer_input.is_named:
            given = next((one for one in operands if one.dtype == given.dtype), given)
        weights = [tensor.dtype for tensor in inputs if tensor.kind == "parameter"]
        named = (one for one in dtypes_in(crash.event.message) if one != given.dtype)
        return given, weights[0] if weights else next(named, "float32")
    if isinstance(crash.said, IndexDtype) and (index := _index(crash)) is not None:
        return index, ""
    tensors = _rivals(operands or inputs)
    weights = [tensor.dtype for tensor in operands if tensor.kind == "parameter"]
    common = weights[0] if weights else "float32"
    odd = next((tensor for tensor in tensors if tensor.dtype != common), None)
    odd = next((tensor for tensor in tensors if _is_made_empty(tensor)), odd)
    if odd is None:
        return None, ""
    return odd, next((one.dtype for one in tensors if one.dtype != odd.dtype), "")


def _index(crash: CrashView) -> NamedTensor | None:
    """Return what the operation takes for its indices, by the program's text for it if that is certain."""
    given = next((one for one in crash.event.inputs if one.argument in INDICES), None)
    if given is None:
        return None
    same = [
        one
        for one in crash.event.operands
        if (one.shape, one.dtype, one.made_by) == (given.shape, given.dtype, given.made_by)
    ]
    return same[0] if len(same) == 1 else given


def _rivals(tensors: list[NamedTensor]) -> list[NamedTensor]:
    """Return the tensors whose dtypes conflict: indices are integers, and no rivals of several floating dtypes."""
    floating = [one for one in tensors if "float" in one.dtype]
    return floating if len({one.dtype for one in floating}) > 1 else tensors


def _is_made_empty(tensor: NamedTensor) -> bool:
    """Tell whether a tensor comes from a factory such as `torch.zeros`, which asks no other tensor for its dtype."""
    made = origin_of(tensor)
    call = expression_of(made.expression or "") if made is not None else None
    return word_of(call) in FACTORIES


def _source(crash: CrashView, odd: NamedTensor | None) -> list[Evidence]:
    """Return the expression that gave the tensor its dtype as evidence."""
    if odd is None:
        return []
    is_numpys = odd.dtype == NUMPY_DEFAULT
    numpy = "; NumPy's default is float64, PyTorch's is float32" if is_numpys else ""
    field, place = crash.fact("dataset_field"), crash.fact("dataset_place")
    if field and is_numpys:
        where = f", which {crash.fact('dataset_expression')} ({place}) makes" if place else ""
        words = f"{odd.name} comes from the dataset's {field} ({odd.dtype}){where}"
        return [Evidence(words + numpy)]
    made = origin_of(odd)
    if made is not None:
        return [Evidence(f"{made.expression}{at(made)} makes {odd.name}{numpy}")]
    batch = " in the batch from the DataLoader" if odd.origin == "batch" else ""
    return [Evidence(f"{odd.name} is {odd.dtype}{batch}{numpy}")] if is_numpys else []
