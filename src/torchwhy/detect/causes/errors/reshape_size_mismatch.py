from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import flattening
from torchwhy.detect.rules.message_kinds import Reshaped
from torchwhy.detect.views.crash.crash_evidence import layer_words, sizes
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.diagnosis import Diagnosis, Shape
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Layer
from torchwhy.record.trace import Trace
from torchwhy.source.calls import called, method_of
from torchwhy.source.edits import Source
from torchwhy.source.values import text_of


class SizesDoNotMultiply(Diagnosis):
    """A reshape asks for a different number of elements than the tensor has."""

    subject: str  # the expression, or the layer with its constructor
    asked: Shape
    tensor: str
    shape: Shape
    there: int  # the number of elements
    fitting: Shape | None  # the sizes asked for, with one of them changed so that they fit
    taker: str | None  # the layer that gets the result
    taker_size: int | None

    @property
    def sentence(self) -> str:
        has = f"{self.tensor} ({sizes(self.shape)})" if len(self.shape) > 1 else self.tensor
        product = "×".join(str(size) for size in self.asked if size != -1)
        if -1 in self.asked[1:]:
            problem = f"needs a multiple of {product} elements, but {has} has {self.there}"
        elif -1 in self.asked:
            problem = f"splits into rows of {product} elements, but the {self.there} of {has} are no multiple of that"
        else:
            total = f"{product} = {math.prod(self.asked)}" if len(self.asked) > 1 else product
            problem = f"asks for {total} elements, but {has} has {self.there}"
        fits = f"; {sizes(self.fitting)} would fit" if self.fitting is not None else ""
        return f"{self.subject} {problem}{fits}"

    @property
    def is_flattening(self) -> bool:
        """Tell whether the fitting sizes are one row per sample."""
        if self.fitting is None:
            return False
        return len(self.fitting) == 2 < len(self.shape) and self.fitting[0] == self.shape[0]

    @property
    def new_taker_size(self) -> int | None:
        """Return how many features the next layer must take; None if that does not change."""
        if self.fitting is None or self.taker is None or self.fitting[-1] == self.taker_size:
            return None
        return self.fitting[-1]

    @property
    def remedies(self) -> tuple[str, ...]:
        mend = f"or change what gave {self.tensor} its shape"
        torn = remainder(self.asked, self.shape)
        if torn is not None:
            whole, part = torn
            advice = (
                f"choose a number that divides {whole}, because {whole} is no multiple of {part}, or pad or resize "
                f"the data to {whole // part * part} or {(whole // part + 1) * part}"
            )
            return (advice,)
        if self.fitting is None:
            return (f"make the sizes multiply to {math.prod(self.shape)}, {mend}",)
        then = ""
        if self.new_taker_size is not None:
            then = f", and construct {self.taker} with {self.new_taker_size} input features"
        if not self.is_flattening:
            return (f"ask for {sizes(self.fitting)}{then}, {mend}",)
        parts = self.tensor.split(".")
        name = self.tensor if all(part.isidentifier() for part in parts) else "x"
        return (f"use `{name}.flatten(1)`, which needs no sizes{then}",)

    def evidence(self) -> Iterator[Evidence]:
        yield from _odd_one_out(self.asked, self.shape, self.fitting)
        if self.taker is not None and self.taker_size is not None:
            yield Evidence(
                f"{self.taker} expects {self.taker_size} features, so it must change with the reshape"
            )


class ReshapeSizeMismatch(Detector):
    """`view` or `reshape` asks for a shape with a different number of elements than the tensor has."""

    name = "reshape-size-mismatch"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            match crash.said:
                case Reshaped(asked=asked, there=there):
                    layer = _unflatten(crash)
                    yield crash.finding(
                        self.name,
                        diagnosed(crash, asked, there),
                        evidence=[*crash.walk_evidence, *crash.operand_evidence],
                        location=layer.made_at if layer is not None else None,
                    )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case SizesDoNotMultiply(fitting=list(fitting)) as diagnosis:
                layer, features = diagnosis.taker, diagnosis.new_taker_size
                if layer is not None and features is not None:
                    yield from flattening.flattened(
                        finding.location, source, layer=layer, features=features
                    )
                if not diagnosis.is_flattening:
                    yield from flattening.asked_for(finding.location, source, sizes=fitting)


def diagnosed(crash: CrashView, asked: Shape, there: int) -> SizesDoNotMultiply:
    """Return the reshape with the tensor, and the fitting sizes if changing one of them is enough."""
    name, shape = _reshaped(crash, there)
    layer = _unflatten(crash)
    return SizesDoNotMultiply(
        subject=layer_words(layer) if layer is not None else f"`{crash.expression}`",
        asked=asked,
        tensor=name,
        shape=shape,
        there=there,
        fitting=nearest_fit(asked, shape),
        taker=crash.fact("taker"),
        taker_size=crash.count("taker_size"),
    )


def remainder(asked: Shape, shape: Shape) -> tuple[int, int] | None:
    """Return the one size that is split into two with a remainder, and what it is divided by."""
    found = {
        (whole, part)
        for first, second in itertools.pairwise(asked)
        for part, rounded in ((first, second), (second, first))
        for whole in shape
        if 1 < part < whole and whole % part and whole // part == rounded
    }
    return found.pop() if len(found) == 1 else None


def _unflatten(crash: CrashView) -> Layer | None:
    """Return the `nn.Unflatten` that has the sizes; None if the failing expression has them."""
    layer = crash.layer
    is_it = layer is not None and layer.kind == "Unflatten" and layer.made_at is not None
    return layer if is_it else None


def _reshaped(crash: CrashView, there: int) -> tuple[str, Shape]:
    """Return the name and shape of the tensor: an operand, or the last output of the model that has its elements."""
    for tensor in crash.tensors:
        if math.prod(tensor.shape) == there:
            return _receiver(crash) if tensor.name == "self" else tensor.name, tensor.shape
    for station in reversed(crash.event.walk):
        if math.prod(station.shape) == there:
            return f"the output of {station.what}", station.shape
    return "the tensor", [there]


def _receiver(crash: CrashView) -> str:
    """Return `self.conv(x)` for `self.conv(x).view(32, -1)`, because torch names this operand only `self`."""
    node = crash.syntax
    method = method_of(node, called(node))
    return "the tensor" if method is None else text_of(method[1])


def nearest_fit(asked: Sequence[int], shape: Sequence[int]) -> Shape | None:
    """Return the sizes asked for, with one of them changed so that they fit; None if no single change does.

    If the first size is the batch size of the tensor, the last possible size changes, because people compute that
    one by hand. Otherwise the first possible size changes.
    """
    there = math.prod(shape)
    if -1 in asked:
        is_rows = list(asked[:1]) == [-1] and len(asked) == 2 and len(shape) > 1
        return [shape[0], there // shape[0]] if is_rows and shape[0] else None
    places = range(len(asked))
    for place in reversed(places) if list(asked[:1]) == list(shape[:1]) else places:
        rest = math.prod(asked[:place]) * math.prod(asked[place + 1 :])
        if rest and there % rest == 0:
            return [*asked[:place], there // rest, *asked[place + 1 :]]
    return None


def _odd_one_out(
    asked: Sequence[int], shape: Sequence[int], fitting: Sequence[int] | None
) -> Iterator[Evidence]:
    """Yield which size is wrong, and the sizes of the tensor that give the right one."""
    for was, right in zip(asked, fitting or (), strict=False):
        if was in (-1, right):
            continue
        first = next((i for i in range(len(shape) - 1) if math.prod(shape[i:]) == right), None)
        if first is not None:
            parts = "·".join(map(str, shape[first:]))
            yield Evidence(f"{was} is wrong: {parts} = {right}", value=right)
        elif right in shape:
            yield Evidence(f"{was} is wrong: the tensor has {right} there", value=right)
        return
    kept = 0
    while kept < min(len(asked), len(shape)) and asked[kept] == shape[kept]:
        kept += 1
    if kept and -1 not in asked and len(asked) > kept + 1:
        given, wanted = math.prod(shape[kept:]), math.prod(asked[kept:])
        yield Evidence(
            f"{sizes(asked[:kept])} fits, but {sizes(asked[kept:])} = {wanted} must equal {given}",
            value=wanted,
        )
