from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import shapes
from torchwhy.detect.rules.message_kinds import (
    BatchSizes,
    CtcLengths,
    Elementwise,
    TargetShape,
)
from torchwhy.detect.views.crash.crash_evidence import Sized, sized, sizes
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.diagnosis import Diagnosis, Shape
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.crashes import NamedTensor, WalkStep
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

RESHAPED = (
    "squeeze-target",
    "class-numbers",
    "class-dimension",
    "unsqueeze-target",
    "squeeze-input",
    "flatten-target",
    "swap-arguments",
    "reshape-target",
)
MOST_FIXES = 3


class ShapesDiffer(Diagnosis):
    """A loss got an output and a target whose shapes do not match."""

    expression: str
    output: Sized
    target: Sized
    message = "{expression} compares {output} with {target}"
    advice = "give the loss one target for each row of the output"


class ImagesDiffer(ShapesDiffer):
    """The output and the target are images of different height or width."""

    there: Shape  # height and width of the output
    wanted: Shape  # height and width of the target
    advice = (
        "pad the convolutions so that they keep the size, or crop or resize one of the two: the output is {size}, the "
        "target {target_size}"
    )

    @property
    def size(self) -> str:
        """Return the height and width of the output in words."""
        return sizes(self.there)

    @property
    def target_size(self) -> str:
        """Return the height and width of the target in words."""
        return sizes(self.wanted)


class ColumnsDiffer(ShapesDiffer):
    """The output and the target have as many rows, but different numbers of columns."""

    there: int  # columns of the output
    wanted: int  # columns of the target
    layer: str | None  # the layer that made the output
    message = "{expression} compares {output} with {target}: {there} columns with {wanted}"
    advice = "give {maker} {wanted} outputs instead of {there}, or the target {there} columns instead of {wanted}"

    @property
    def maker(self) -> str:
        """Return the layer that makes the output."""
        return f"`{self.layer}`" if self.layer is not None else "the last layer"


class ArgumentsSwapped(ShapesDiffer):
    """The loss works with the output and the target swapped."""

    message = "{expression} compares {output} with {target}: the two are in the wrong order"


class SamplesTornApart(Diagnosis):
    """A reshape in the model made a different number of rows than there are samples."""

    reshape: str  # the expression or the layer
    station: str  # the expression or layer before it
    before: Shape
    after: Shape
    advice = "keep the first dimension: `x.flatten(1)` or `x.view(x.size(0), -1)`"

    @property
    def sentence(self) -> str:
        samples, rows = self.before[0], self.after[0]
        return (
            f"{self.reshape} turns {samples} samples into {rows} rows ({sizes(self.before)} → {sizes(self.after)}), "
            f"so the loss gets {rows} outputs for {samples} targets"
        )

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(f"{self.station} still had one row per sample: {sizes(self.before)}")


class BatchTakenForTime(Diagnosis):
    """A CTC loss got the batch as its first dimension, where it expects time."""

    expression: str
    output: Sized
    samples: int
    steps: int
    message = (
        "{expression} reads {output} as (time, batch, classes): {steps} sequences of {samples} steps, "
        "but it gets {samples} targets"
    )
    advice = "swap the first two dimensions: `{output.name}.transpose(0, 1)`"


class TargetShapeMismatch(Detector):
    """A loss got an output and a target whose shapes do not match."""

    name = "target-shape-mismatch"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if not crash.is_loss or crash.is_in_loader or crash.is_without_batch:
                continue
            match crash.said:
                case TargetShape(left=left, right=right) | Elementwise(left=left, right=right):
                    if not crash.is_changed_batch(left, right):
                        yield self._finding(crash)
                case CtcLengths():
                    diagnosis = _batch_first(crash)
                    if diagnosis is not None:
                        yield crash.finding(
                            self.name,
                            diagnosis,
                            evidence=[*crash.operand_evidence, *crash.walk_evidence],
                        )
                case _ if crash.working("swap-arguments"):
                    yield self._finding(crash)

    def _finding(self, crash: CrashView) -> Finding:
        evidence = [*crash.operand_evidence, *crash.walk_evidence]
        torn = _torn_apart(crash)
        if torn is not None:
            before, after = torn
            diagnosis = SamplesTornApart(
                reshape=after.what, station=before.what, before=before.shape, after=after.shape
            )
            return crash.finding(self.name, diagnosis, evidence=evidence, location=after.location)
        return crash.finding(
            self.name,
            diagnosed(crash),
            evidence=evidence,
            cures=crash.fixes(*RESHAPED)[:MOST_FIXES],
        )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        if isinstance(finding.diagnosis, ArgumentsSwapped):
            yield from shapes.arguments_in_order(finding.location, source)
        if isinstance(finding.diagnosis, BatchTakenForTime):
            yield from shapes.time_first(finding.location, source)


def diagnosed(crash: CrashView) -> ShapesDiffer:
    """Return the two shapes, and how they differ if that is known."""
    output, target = crash.tensor("input", "self"), crash.tensor("target")
    first = sized(output) if output is not None else Sized("an output")
    if target is None and output is not None:
        # A loss of several outputs, such as that of triplets, has no target.
        target = next((one for one in crash.event.operands if one.shape != output.shape), None)
    second = sized(target) if target is not None else Sized("a target")
    if crash.working("swap-arguments"):
        return ArgumentsSwapped(expression=crash.expression, output=first, target=second)
    if output is not None and target is not None and _are_other_images(output, target):
        return ImagesDiffer(
            expression=crash.expression,
            output=first,
            target=second,
            there=output.shape[-2:],
            wanted=target.shape[-2:],
        )
    if output is not None and target is not None and _are_other_columns(output, target):
        made = [one.what for one in crash.event.walk if list(one.shape) == list(output.shape)]
        return ColumnsDiffer(
            expression=crash.expression,
            output=first,
            target=second,
            there=output.shape[-1],
            wanted=target.shape[-1],
            layer=made[-1] if made else None,
        )
    return ShapesDiffer(expression=crash.expression, output=first, target=second)


def _are_other_columns(output: NamedTensor, target: NamedTensor) -> bool:
    """Tell whether the last sizes alone differ, and neither is 1, which is a missing or superfluous dimension."""
    are_tables = len(output.shape) == len(target.shape) > 1
    alike = are_tables and output.shape[:-1] == target.shape[:-1]
    return (
        alike
        and output.shape[-1] != target.shape[-1]
        and 1 not in (output.shape[-1], target.shape[-1])
    )


def _batch_first(crash: CrashView) -> BatchTakenForTime | None:
    """Return the diagnosis if the first dimension, not the second, has one sequence per target."""
    scores, targets = crash.tensor("log_probs"), crash.tensor("targets")
    if scores is None or targets is None or len(scores.shape) != 3 or len(targets.shape) != 2:
        return None
    samples, steps, _ = scores.shape
    if targets.shape[0] != samples:
        return None
    return BatchTakenForTime(
        expression=crash.expression, output=sized(scores), samples=samples, steps=steps
    )


def _are_other_images(output: NamedTensor, target: NamedTensor) -> bool:
    are_images = min(len(output.shape), len(target.shape)) > 2
    are_alike = output.shape[:1] == target.shape[:1]
    return are_images and are_alike and output.shape[-2:] != target.shape[-2:]


def _torn_apart(crash: CrashView) -> tuple[WalkStep, WalkStep] | None:
    """Return the steps before and after the reshape that changed the number of rows; None if there is none.

    A reshape keeps the number of elements, and no layer that keeps it changes the number of rows.
    """
    target = crash.tensor("target")
    if target is None or not target.shape or not isinstance(crash.said, BatchSizes):
        return None
    rows = target.shape[0]
    stations = [station for station in crash.event.walk if station.shape]
    for before, after in itertools.pairwise(stations):
        is_reshape = math.prod(before.shape) == math.prod(after.shape)
        if before.shape[0] == rows != after.shape[0] and is_reshape:
            return before, after
    return None
