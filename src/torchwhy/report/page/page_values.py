"""Values behind a failure: the operands of the birth, the bad sample beside a good one, the shapes before a crash."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torchwhy.record.crashes import Crash
from torchwhy.record.events import Birth, Operand, SampleValues
from torchwhy.record.numbers import Real, decode
from torchwhy.report.page.page_model import Histogram, SamplePair, Table, Values
from torchwhy.report.page.page_source import operand_name
from torchwhy.report.page.png_writer import Pixel

SMALLEST_SIDE = 8  # of what is drawn as an image
SHORTEST_CURVE = 16
COLOURS = (1, 3, 4)  # channels of an image
NOT_FINITE: Pixel = (214, 40, 40)


def operand_histograms(birth: Birth) -> tuple[Histogram, ...]:
    """Return the distribution of each operand of a birth, as far as it was counted."""
    shown = (
        _histogram(operand, operand_name(birth, place))
        for place, operand in enumerate(birth.operands)
    )
    return tuple(one for one in shown if one is not None)


def _histogram(operand: Operand, name: str) -> Histogram | None:
    facts = operand.tensor
    if not operand.bins or facts is None or facts.minimum is None or facts.maximum is None:
        return None
    born = (operand.at_born, operand.born_minimum, operand.born_maximum)
    values = (decode(one) for one in born if one is not None)
    marks = tuple(dict.fromkeys(one for one in values if math.isfinite(one)))
    bad = facts.nan + facts.positive_infinity + facts.negative_infinity
    note = f"{facts.dtype}{facts.shape}, {facts.zeros} zeros"
    return Histogram(
        name,
        facts.minimum,
        facts.maximum,
        tuple(operand.bins),
        marks,
        note + (f", {bad} not finite" if bad else ""),
    )


def sample_pairs(events: Sequence[SampleValues]) -> tuple[SamplePair, ...]:
    """Return the bad and the good sample, one pair for each tensor of the batch."""
    return tuple(
        SamplePair(
            one.field,
            f"sample {one.position}, which breaks the step",
            f"sample {one.good_position}, beside it",
            *_drawn(one),
        )
        for one in events
        if len(one.bad) == len(one.good)
    )


def _drawn(event: SampleValues) -> tuple[Values, Values]:
    kept = [-(-size // step) for size, step in zip(event.shape, event.every, strict=False)]
    note = f"{event.dtype}{event.shape}"
    if any(step > 1 for step in event.every):
        note += f", every {' × '.join(map(str, event.every))}-th value"
    size = _image_size(kept) if event.dtype.startswith(("float", "bfloat", "uint8")) else None
    if size is not None and math.prod(kept) == len(event.bad):
        low, high = _range((*event.bad, *event.good))
        return tuple(  # type: ignore[return-value]
            Values("image", note, pixels=_pixels(values, size, low, high))
            for values in (event.bad, event.good)
        )
    is_wave = event.dtype.startswith(("float", "bfloat")) and len(event.bad) >= SHORTEST_CURVE
    kind = "curve" if is_wave and math.prod(kept) == max(kept, default=0) else "numbers"
    return tuple(  # type: ignore[return-value]
        Values(kind, note, numbers=tuple(map(_finite, values)))  # type: ignore[arg-type]
        for values in (event.bad, event.good)
    )


def _finite(value: Real) -> float | None:
    number = decode(value)
    return number if math.isfinite(number) else None


def _image_size(kept: list[int]) -> tuple[int, int, int, bool] | None:
    """Return (height, width, channels, channels come first) of what can be drawn as an image."""
    sides = [size for size in kept if size != 1]
    if len(sides) == 2 and min(sides) >= SMALLEST_SIDE:
        return sides[0], sides[1], 1, True
    if len(kept) != 3:
        return None
    if kept[0] in COLOURS and min(kept[1:]) >= SMALLEST_SIDE:
        return kept[1], kept[2], kept[0], True
    if kept[2] in COLOURS and min(kept[:2]) >= SMALLEST_SIDE:
        return kept[0], kept[1], kept[2], False
    return None


def _range(values: Sequence[Real]) -> tuple[float, float]:
    finite = [number for number in map(decode, values) if math.isfinite(number)]
    return min(finite, default=0.0), max(finite, default=0.0)


def _pixels(
    values: Sequence[Real], size: tuple[int, int, int, bool], low: float, high: float
) -> tuple[tuple[Pixel, ...], ...]:
    height, width, channels, first = size
    numbers = [decode(value) for value in values]

    def at(row: int, column: int, channel: int) -> float:
        if first:
            return numbers[(channel * height + row) * width + column]
        return numbers[(row * width + column) * channels + channel]

    def pixel(row: int, column: int) -> Pixel:
        parts = [at(row, column, channel) for channel in range(min(channels, 3))]
        if not all(map(math.isfinite, parts)):
            return NOT_FINITE
        bytes_ = [round(255 * (part - low) / (high - low)) if high > low else 0 for part in parts]
        return (bytes_[0],) * 3 if len(bytes_) < 3 else (bytes_[0], bytes_[1], bytes_[2])

    return tuple(tuple(pixel(row, column) for column in range(width)) for row in range(height))


def walk_of(crash: Crash) -> Table | None:
    """Return the shapes on the way to an exception."""
    if not crash.walk:
        return None
    rows = tuple(
        (step.what, f"{step.dtype}{step.shape}", str(step.location) if step.location else "")
        for step in crash.walk
    )
    return Table("The way of the shapes", ("station", "result", "place"), rows, "then it failed")


def tensors_of_crash(crash: Crash) -> Table | None:
    """Return the tensors of the failing expression."""
    tensors = crash.operands or crash.inputs
    if not tensors:
        return None
    rows = tuple(
        (
            one.name,
            f"{one.dtype}{one.shape}",
            one.device,
            str(one.made_by) if one.made_by is not None else (one.origin or ""),
        )
        for one in tensors
    )
    return Table("Tensors of the failing call", ("tensor", "what it is", "device", "made by"), rows)
