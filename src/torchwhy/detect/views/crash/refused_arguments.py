"""Diagnoses of calls that refuse an argument: its number of dimensions, its size, its values, or its matrix."""

from __future__ import annotations

from typing import Any, Literal

from torchwhy.detect.rules.dimension_messages import (
    DimensionCount,
    MatrixRefused,
    RangeRefused,
    TooSmall,
)
from torchwhy.detect.rules.message_kinds import Unpacking
from torchwhy.detect.views.crash.crash_evidence import Sized, at, origin_of, sized, sizes
from torchwhy.detect.views.crash.crash_view import CrashView
from torchwhy.detect.views.crash.raised_errors import Raised
from torchwhy.diagnosis import Shape
from torchwhy.source.values import indices_in


class OtherDimensions(Raised):
    """A tensor has another number of dimensions than the line is written for."""

    tensor: Sized
    has: int
    wanted: int | None
    dimension: int | None
    made_at: str  # ` (train.py:12)`, or nothing
    sample: int | None  # of the dataset, in whose code it happens
    names: Literal["sizes", "variables"] | None = (
        None  # what the line names one of for each dimension
    )
    message = "`{expression}`{worker} {asks}, but {tensor} has {count}{of_sample}"

    @property
    def count(self) -> str:
        """Return the number of dimensions, with the noun if the sentence has not named it yet."""
        is_named = self.dimension is None and self.names is None
        return str(self.has) if is_named else f"{self.has} {self.noun}"

    @property
    def noun(self) -> str:
        """Return `dimension` or `dimensions`."""
        return "dimension" if self.has == 1 else "dimensions"

    @property
    def asks(self) -> str:
        """Return what the line is written for."""
        if self.dimension is not None:
            return f"uses dimension {self.dimension}"
        if self.names is not None:
            return f"{'unpacks' if self.names == 'variables' else 'names'} {self.wanted} sizes"
        return f"is written for {self.wanted or 'more'} dimensions"

    @property
    def of_sample(self) -> str:
        """Return a clause with the sample."""
        return f" in sample {self.sample}" if self.sample is not None else ""

    @property
    def remedies(self) -> tuple[str, ...]:
        if self.sample is not None:
            advice = (
                "give every sample the same dimensions where it is read: a grey image lacks the channels that "
                'coloured ones have (`image.convert("RGB")`, or `unsqueeze`)'
            )
            return (advice,)
        if self.names == "sizes":
            return (f"name a size for each of its {self.has} dimensions; -1 keeps one as it is",)
        more = self.wanted is not None and self.has > self.wanted
        change = "take the dimension out" if more else "add the missing dimension"
        how = "`squeeze` or an index" if more else "`unsqueeze`"
        advice = (
            f"{change} where {self.tensor.name} is made{self.made_at} ({how}), or write this line for {self.has} "
            f"{self.noun}"
        )
        return (advice,)


class ShrunkAway(Raised):
    """Poolings and strides have made the data smaller than the next kernel."""

    given: Shape  # height and width that are left
    kernel: str | None
    original: Shape | None  # height and width of the model's input
    message = "{taker} gets data of size {left}{before}, which is too small for {what}"

    @property
    def taker(self) -> str:
        """Return the layer, or the expression."""
        return self.layer if self.layer is not None else f"`{self.expression}`"

    @property
    def left(self) -> str:
        """Return what is left of the input."""
        return sizes(self.given)

    @property
    def before(self) -> str:
        """Return a clause with the size of the model's input."""
        return f" ({sizes(self.original)} at the model's input)" if self.original else ""

    @property
    def what(self) -> str:
        """Return the kernel."""
        return f"its kernel of {self.kernel}" if self.kernel is not None else "its window"

    @property
    def remedies(self) -> tuple[str, ...]:
        return (
            "take out one of the poolings or strides before it, or give the model larger inputs",
            "pad the convolutions so that they keep the size: `padding=1` for a kernel of 3",
        )


class RefusedByFunction(Raised):
    """A function refuses values outside of its range."""

    argument: str
    taker: str
    count: int
    of: int
    nonfinite: int
    minimum: float
    maximum: float
    takes: str  # the range of the function
    message = "{count} of {of} values of {argument} are not allowed in {taker}: {why}"

    @property
    def why(self) -> str:
        """Return what the values are, and what they should be."""
        if self.nonfinite:
            are = "is" if self.nonfinite == 1 else "are"
            return f"{self.nonfinite} {are} not finite"
        return self.fill("it takes {takes}, but they range from {minimum:.3g} to {maximum:.3g}")

    @property
    def remedies(self) -> tuple[str, ...]:
        if self.nonfinite:
            return (
                f"find the line that made {self.argument} not finite: print it step by step before this call",
            )
        if self.taker == "multinomial":
            return (
                "pass probabilities, which are never negative: `torch.softmax(scores, dim=-1)`",
            )
        return (
            "leave the sigmoid to the loss: `nn.BCEWithLogitsLoss()` or `binary_cross_entropy_with_logits`",
            f"apply `torch.sigmoid` to {self.argument} first",
        )


class MatrixNotSuitable(Raised):
    """A decomposition or solver failed at a matrix."""

    matrix: Sized
    lacks: str
    nonfinite: int
    smallest: float | None  # eigenvalue of a symmetric matrix, singular value of another one
    largest: float | None
    is_symmetric: bool
    message = "{matrix} is not {lacks}{measured}, so `{expression}` failed"

    @property
    def measured(self) -> str:
        """Return what was measured."""
        if self.nonfinite:
            return f": {self.nonfinite} of its elements are not finite"
        if self.smallest is None or self.largest is None:
            return ""
        values = "eigenvalue" if self.is_symmetric else "singular value"
        return f": its smallest {values} is {self.smallest:.3g}, its largest {self.largest:.3g}"

    @property
    def remedies(self) -> tuple[str, ...]:
        if self.nonfinite:
            return (
                f"find the line that made {self.matrix.name} not finite; the solver is not at fault",
            )
        name = self.matrix.name
        size = f"{name}.shape[-1]" if name.isidentifier() else "n"
        jitter = (
            f"add a small multiple of the identity: `{name} + {self.jitter} * torch.eye({size})`"
        )
        if self.lacks == "positive definite":
            return (
                f"{jitter}; rounding makes eigenvalues near 0 negative",
                "compute in float64",
            )
        return (jitter, "solve in the sense of least squares: `torch.linalg.lstsq`")

    @property
    def jitter(self) -> str:
        """Return a multiple above the most negative eigenvalue, relative to the largest."""
        lowest = max(-(self.smallest or 0.0), 1e-7 * abs(self.largest or 1.0), 1e-12)
        return f"{10 ** len_of(lowest):.0e}".replace("e-0", "e-").replace("e+0", "e+")


def len_of(number: float) -> int:
    """Return the power of ten above ten times a number."""
    power = -30
    while 10.0**power < 10 * number:
        power += 1
    return power


def refused(crash: CrashView, common: dict[str, Any]) -> Raised | None:
    """Return which argument the call refused, and why; None if the exception is another one."""
    match crash.said:
        case DimensionCount() as said:
            return _other_dimensions(crash, common, said)
        case Unpacking(wanted=wanted) if (shape := crash.numbers("unpacked_shape")) is not None:
            return OtherDimensions(
                **common,
                tensor=Sized(crash.fact("unpacked_name") or "it", [int(one) for one in shape]),
                has=len(shape),
                wanted=wanted,
                dimension=None,
                made_at="",
                sample=crash.count("index"),
                names="variables",
            )
        case TooSmall(left=left, kernel=kernel):
            return ShrunkAway(
                **common,
                given=_sizes_in(left),
                kernel=sizes(_sizes_in(kernel)) if kernel is not None else None,
                original=_original(crash, len(_sizes_in(left))),
            )
        case RangeRefused() if (argument := crash.fact("refused")) is not None:
            return RefusedByFunction(
                **common,
                argument=argument,
                taker=crash.fact("refused_by") or crash.expression,
                count=crash.count("refused_count") or 0,
                of=crash.count("refused_of") or 0,
                nonfinite=crash.count("refused_nonfinite") or 0,
                minimum=crash.real("refused_minimum"),
                maximum=crash.real("refused_maximum"),
                takes=crash.fact("refused_constraint") or "other values",
            )
        case MatrixRefused(lacks=lacking) if (name := crash.fact("matrix")) is not None:
            shape = crash.numbers("matrix_shape")
            return MatrixNotSuitable(
                **common,
                matrix=Sized(name, [int(one) for one in shape] if shape is not None else None),
                lacks=lacking,
                nonfinite=crash.count("matrix_nonfinite") or 0,
                smallest=_known(crash, "matrix_smallest"),
                largest=_known(crash, "matrix_largest"),
                is_symmetric=crash.has("matrix_symmetric"),
            )
    return None


def _other_dimensions(
    crash: CrashView, common: dict[str, Any], said: DimensionCount
) -> OtherDimensions | None:
    tensor = next((one for one in crash.tensors if len(one.shape) == said.given), None)
    if tensor is None:
        return None
    return OtherDimensions(
        **common,
        tensor=sized(tensor),
        has=said.given,
        wanted=said.wanted or indices_in(crash.syntax),
        dimension=said.dimension,
        made_at=at(origin_of(tensor)),
        sample=crash.count("index"),
        names="sizes" if said.names_sizes else None,
    )


def _sizes_in(text: str) -> Shape:
    """Return the sizes that torch writes as `1 x 1` or `1x1`."""
    return [int(number) for number in text.split("x")]


def _original(crash: CrashView, count: int) -> Shape | None:
    """Return the last sizes of the model's input, if it has more of them than the data of the failing layer."""
    given = next((one.shape for one in crash.event.walk if one.what == "input"), None)
    return given[-count:] if given is not None and len(given) > count else None


def _known(crash: CrashView, name: str) -> float | None:
    value = crash.real(name)
    return value if value == value else None  # noqa: PLR0124 - NaN means that it was not measured
