"""The evidence of a crash: its tensors, the shapes through the model, its batch, and how the program went on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from torchwhy.detect.views.nonfinite.judging import short
from torchwhy.diagnosis import Shape
from torchwhy.finding import Evidence, Label, SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.record.events import Crash, Layer, NamedTensor
from torchwhy.record.trace import Trace

STATIONS_SHOWN = 8  # A longer walk of shapes shows its beginning and its end.
OPERANDS_SHOWN = 5
INDICES_SHOWN = 8
COLOURS = re.compile(r"\x1b\[[\d;]*m")
LONGEST_MESSAGE = 320  # Four terminal lines of torch's own message.


def sizes(shape: Sequence[int]) -> str:
    """Return a shape as `64×1×28×28` or `scalar`; that of a nested tensor as `8×ragged×16`."""
    sizes = ("ragged" if size < 0 else str(size) for size in shape)
    return "×".join(sizes) if shape else "scalar"


@dataclass(frozen=True)
class Sized:
    """A tensor's name and shape; in a sentence `x (64×10)`, or only the name if the shape is unknown."""

    name: str
    shape: Shape | None = None

    def __str__(self) -> str:
        return f"{self.name} ({sizes(self.shape)})" if self.shape is not None else self.name


def sized(tensor: NamedTensor) -> Sized:
    """Return the name and shape of a recorded tensor."""
    return Sized(tensor.name, tensor.shape)


def at(span: SourceSpan | None) -> str:
    """Return ` (train.py:12)`, or nothing if the place is unknown."""
    return f" ({span.file}:{span.line})" if span is not None else ""


def first_line(message: str) -> str:
    """Return the first non-empty line of an exception's message, of a long one whole sentences or else whole words."""
    plain = COLOURS.sub("", message)
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    if not lines:
        return "no message"
    if len(lines[0]) <= LONGEST_MESSAGE:
        return lines[0].removesuffix(":")
    head = lines[0][: LONGEST_MESSAGE - 1]
    sentences = head[: head.rfind(". ") + 1]
    return sentences if len(sentences) > LONGEST_MESSAGE // 2 else f"{head.rpartition(' ')[0]} …"


def layer_words(layer: Layer) -> str:
    """Return a layer as the program writes it: `model.out, nn.Linear(1050, 10)`."""
    written = layer.made_at.expression if layer.made_at is not None else None
    return f"{layer.path}, {short(written) if written else layer.text}"


def tensor_line(tensor: NamedTensor) -> str:
    """Return a tensor as `x: float32 64×1568`, with its device and range if known."""
    return f"{tensor.name}: {_dtype_and_sizes(tensor)}"


def _dtype_and_sizes(tensor: NamedTensor) -> str:
    words = f"{tensor.dtype} {sizes(tensor.shape)}"
    if tensor.device != "cpu":
        words += f" on {tensor.device}"
    if tensor.minimum is not None and tensor.maximum is not None:
        words += f", values {tensor.minimum:g} to {tensor.maximum:g}"
    return words


def of_operands(crash: Crash) -> list[Evidence]:
    """Return one piece of evidence per tensor in the failing expression, with the place that made it."""
    return [
        Evidence(
            tensor_line(tensor),
            location=tensor.made_by,
            step=crash.step,
            label=Label(tensor.name, _dtype_and_sizes(tensor)),
        )
        for tensor in shown_operands(crash)
    ]


def shown_operands(crash: Crash) -> list[NamedTensor]:
    """Return the tensors that a report shows."""
    return (crash.operands or crash.inputs)[:OPERANDS_SHOWN]


def of_layer(layer: Layer | None) -> list[Evidence]:
    """Return the constructor of a layer as evidence; none if it is unknown."""
    if layer is None or layer.made_at is None:
        return []
    return [Evidence(f"{layer_words(layer)}{at(layer.made_at)}")]


def of_walk(crash: Crash) -> list[Evidence]:
    """Return the shapes through the model as one piece of evidence; none if they are unknown."""
    if len(crash.walk) < 2:
        return []
    stations = [f"{station.what} {sizes(station.shape)}" for station in crash.walk]
    if len(stations) > STATIONS_SHOWN:
        kept = STATIONS_SHOWN // 2
        stations = [*stations[:kept], "…", *stations[-kept:]]
    return [Evidence("shapes through the model: " + " → ".join(stations), step=crash.step)]


def origin_of(tensor: NamedTensor | None) -> SourceSpan | None:
    """Return the expression that made a tensor; None if it is only its name, or if the tensor is a batch."""
    if tensor is None or tensor.made_by is None or tensor.origin == "batch":
        return None
    return tensor.made_by if tensor.made_by.expression not in (None, tensor.name) else None


def of_origin(tensor: NamedTensor | None) -> list[Evidence]:
    """Return the expression that made a tensor as evidence."""
    made = origin_of(tensor)
    if tensor is None or made is None:
        return []
    return [Evidence(f"{tensor.name} is made by {made.expression}{at(made)}")]


def of_loader(crash: Crash) -> Iterator[Evidence]:
    """Yield which samples of the dataset raised the exception, and that a worker process did."""
    index, indices = crash.facts.get("index"), crash.facts.get("indices")
    if isinstance(index, float):
        what = f"sample {index:g} of the dataset"
        is_none = bool(crash.facts.get("is_none"))
        yield Evidence(f"{what} is None" if is_none else f"raised for {what}", value=index)
    elif isinstance(indices, list) and indices:
        shown = ", ".join(map(str, indices[:INDICES_SHOWN]))
        more = " …" if len(indices) > INDICES_SHOWN else ""
        yield Evidence(f"raised while the DataLoader built a batch of the samples {shown}{more}")
    if crash.worker is not None:
        yield Evidence("raised in a worker process of the DataLoader")


def of_going_on(trace: Trace, crash: Crash) -> Evidence:
    """Return the evidence that the program caught the exception, and what this did to training."""
    times = "once" if crash.times == 1 else f"{crash.times} times"
    if crash.untrained:
        return Evidence(f"the program caught the exception, {times}", value=float(crash.times))
    if not trace.steps:
        result = "and no optimizer step ever ran"
    else:
        result = "and lost the batch each time" if crash.times > 1 else "and lost the batch"
    return Evidence(
        f"the program caught the exception and went on, {times} as far as observed, {result}",
        value=float(crash.times),
    )
