from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Sequence

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import flattening
from torchwhy.detect.views.crash.crash_facts import (
    crashes,
    expression_of,
    finding_of,
    idea,
    layer_of,
    layer_words,
    operand_evidence,
    says,
    sizes,
    walk_evidence,
)
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.events import Crash
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

INVALID = r"shape '\[([-\d, ]+)\]' is invalid for input of size (\d+)"
UNFLATTEN = (
    r"unflatten: Provided sizes \[([-\d, ]+)\] don't multiply up to the size of dim \d+ \((\d+)\)"
)


class ReshapeSizeMismatch(Detector):
    """`view` or `reshape` asks for a shape that does not have as many elements as the tensor."""

    name = "reshape-size-mismatch"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            found = says(crash, INVALID) or says(crash, UNFLATTEN)
            if found is not None:
                asked = [int(number) for number in found[1].split(",")]
                yield _judge(trace, crash, asked=asked, there=int(found[2]))

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from flattening.flattened(finding, source)


def _judge(trace: Trace, crash: Crash, *, asked: list[int], there: int) -> Finding:
    name, shape = _reshaped(crash, there)
    fitting = nearest_fit(asked, shape)
    wanted = math.prod(size for size in asked if size != -1)
    has = f"{name} ({sizes(shape)})" if len(shape) > 1 else name
    if -1 in asked[1:]:
        problem = f"wants a multiple of {_product(asked)} elements, and {has} has {there}"
    elif -1 in asked:
        problem = f"splits into rows of {_product(asked)} elements, and the {there} of {has} are no multiple of it"
    else:
        problem = f"asks for {_product(asked)} elements, and {has} has {there}"
    if -1 not in asked and len(asked) > 1:
        problem = problem.replace(_product(asked), f"{_product(asked)} = {wanted}")
    message = f"{_subject(crash)} {problem}"
    if fitting is not None:
        message += f"; {sizes(fitting)} would fit"
    return finding_of(
        trace,
        crash,
        detector=ReshapeSizeMismatch.name,
        message=message,
        evidence=[
            *_odd_one_out(asked, shape, fitting),
            *_taker(crash),
            *walk_evidence(crash),
            *operand_evidence(crash),
        ],
        location=_constructor(crash),
        fixes=list(_fixes(crash, name, shape, fitting)),
    )


def _constructor(crash: Crash) -> SourceSpan | None:
    """Return where the sizes are written, if a layer of torch's holds them; None: in the failing expression."""
    layer = layer_of(crash)
    return layer.made_at if layer is not None and layer.kind == "Unflatten" else None


def _subject(crash: Crash) -> str:
    layer = layer_of(crash)
    if layer is not None and _constructor(crash) is not None:
        return layer_words(layer)
    return f"`{expression_of(crash)}`"


def _product(asked: Sequence[int]) -> str:
    return "×".join(str(size) for size in asked if size != -1)


def _reshaped(crash: Crash, there: int) -> tuple[str, list[int]]:
    """Return name and shape of the tensor: among the operands, what torch itself was given, the last station."""
    for tensor in (*crash.operands, *crash.inputs):
        if math.prod(tensor.shape) == there:
            return _receiver(crash) if tensor.name == "self" else tensor.name, tensor.shape
    for station in reversed(crash.walk):
        if math.prod(station.shape) == there:
            return f"the output of {station.what}", station.shape
    return "the tensor", [there]


def _receiver(crash: Crash) -> str:
    """Return `self.conv(x)` of `self.conv(x).view(32, -1)`: torch itself knows its operand only as `self`."""
    try:
        node = ast.parse(expression_of(crash), mode="eval").body
    except SyntaxError:
        return "the tensor"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return ast.unparse(node.func.value)
    return "the tensor"


def nearest_fit(asked: Sequence[int], shape: Sequence[int]) -> list[int] | None:
    """Return the sizes asked for with one of them changed so that they fit; None if no single change does.

    The first size is kept if it is the tensor's own (the batch), and the last one gives way: it is the one that
    people work out by hand. Otherwise the first one does, if the rest fits as it is.
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
    """Say which size is wrong, and which sizes of the tensor the right one is made of."""
    for was, right in zip(asked, fitting or (), strict=False):
        if was in (-1, right):
            continue
        first = next((i for i in range(len(shape) - 1) if math.prod(shape[i:]) == right), None)
        if first is not None:
            parts = "·".join(map(str, shape[first:]))
            yield Evidence(f"{was} is the odd one out: {parts} = {right}", value=right)
        elif right in shape:
            yield Evidence(f"{was} is the odd one out: the tensor has {right} there", value=right)
        return
    kept = 0
    while kept < min(len(asked), len(shape)) and asked[kept] == shape[kept]:
        kept += 1
    if kept and -1 not in asked and len(asked) > kept + 1:
        given, wanted = math.prod(shape[kept:]), math.prod(asked[kept:])
        yield Evidence(
            f"{sizes(asked[:kept])} fits; of the rest, {sizes(asked[kept:])} = {wanted} has to make {given}",
            value=wanted,
        )


def _taker(crash: Crash) -> Iterator[Evidence]:
    path, size = crash.facts.get("taker"), crash.facts.get("taker_size")
    if isinstance(path, str) and isinstance(size, float):
        yield Evidence(f"{path} takes {size:g} features, so it has to change with the reshape")


def _fixes(
    crash: Crash, name: str, shape: Sequence[int], fitting: Sequence[int] | None
) -> Iterator[Fix]:
    taker = crash.facts.get("taker")
    then = ""
    if fitting is not None and isinstance(taker, str) and fitting[-1] != crash.facts["taker_size"]:
        then = f", and let {taker} take {fitting[-1]} features"
    simple = name if re.fullmatch(r"[A-Za-z_][\w.]*", name) else "x"
    if fitting is None:
        yield idea(
            f"make the sizes multiply up to {math.prod(shape)}, or mend what gave {name} its shape"
        )
    elif len(fitting) == 2 < len(shape) and fitting[0] == shape[0]:
        yield idea(f"write `{simple}.flatten(1)`, which needs no numbers{then}")
    else:
        yield idea(f"ask for {sizes(fitting)}{then}, or mend what gave {name} its shape")
