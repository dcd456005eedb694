from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import padding
from torchwhy.detect.rules.message_kinds import (
    ArraysDiffer,
    Joined,
    RowsDiffer,
    SamplesDiffer,
    Stacked,
)
from torchwhy.detect.views.crash.crash_evidence import sizes
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.detect.views.crash.loader_places import loader_at_work
from torchwhy.diagnosis import Diagnosis, Shape
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

PAD = (
    "give the DataLoader a `collate_fn` that pads: `torch.nn.utils.rnn.pad_sequence(samples, "
    "batch_first=True)`, and mask the padding in the loss"
)
PAD_LAST = (
    "give the DataLoader a `collate_fn` that pads the last dimension to the longest sample: "
    "`torch.nn.functional.pad(x, (0, longest - x.shape[-1]))`, and mask the padding in the loss"
)
# The path of a part that is the whole sample; traces of older versions have the second one.
WHOLE_SAMPLE = ("", "the sample")


class SamplesOfSizes(Diagnosis):
    """The samples of a batch have different sizes; which ones is unknown."""

    first: Shape | None = None
    other: Shape | None = None
    message = "the samples of a batch have different sizes and cannot be stacked"

    @property
    def remedies(self) -> tuple[str, ...]:
        pad = PAD_LAST if differ_in_the_last(self.first, self.other) else PAD
        return pad, "cut or pad every sample to one length in the dataset's `__getitem__`"


class PartsDiffer(SamplesOfSizes):
    """A part of two samples of the dataset has different sizes."""

    part: str | None  # the key of the part, such as `[0]` or `['x']`; None for the whole sample
    first_index: int | None
    other_index: int | None
    message = (
        "the samples of a batch cannot be stacked: {what} is {first_size} in sample {first_place} of the "
        "dataset and {other_size} in sample {other_place}"
    )

    @property
    def what(self) -> str:
        """Return the part that differs."""
        return f"its part {self.part}" if self.part is not None else "it"

    @property
    def first_size(self) -> str:
        """Return the size in the first sample."""
        return sizes(self.first) if self.first is not None else "of another size"

    @property
    def other_size(self) -> str:
        """Return the size in the other sample."""
        return sizes(self.other) if self.other is not None else "of another size"

    @property
    def first_place(self) -> str:
        """Return the index of the first sample."""
        return str(self.first_index) if self.first_index is not None else "?"

    @property
    def other_place(self) -> str:
        """Return the index of the other sample."""
        return str(self.other_index) if self.other_index is not None else "?"

    @property
    def remedies(self) -> tuple[str, ...]:
        if self.first is None or len(self.first) < 3:
            return super().remedies
        return ("resize, crop or pad every sample to one size before returning it",)


class SamplesStacked(SamplesOfSizes):
    """Two samples of the dataset have different sizes and cannot be stacked."""

    first: Shape
    other: Shape
    first_index: int
    other_index: int

    @property
    def sentence(self) -> str:
        return (
            f"the samples of a batch cannot be stacked: sample {self.first_index} of the dataset has size "
            f"{sizes(self.first)}, sample {self.other_index} has {sizes(self.other)}"
        )


class TensorsStacked(SamplesOfSizes):
    """The program stacks tensors of different sizes."""

    first: Shape
    other: Shape
    expression: str
    first_entry: int
    other_entry: int

    @property
    def sentence(self) -> str:
        return (
            f"{self.expression} stacks tensors of different sizes: entry {self.first_entry} is "
            f"{sizes(self.first)}, entry {self.other_entry} is {sizes(self.other)}"
        )


class RowsOfLengths(SamplesOfSizes):
    """The program makes one tensor from rows of different lengths."""

    expression: str
    lengths: list[int]

    @property
    def sentence(self) -> str:
        first, other = self.lengths
        return (
            f"{self.expression} makes a tensor from rows of different lengths: {first} and {other}"
        )


class RaggedBatch(Detector):
    """The samples of a batch have different sizes and cannot be stacked."""

    name = "ragged-batch"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if crash.event.layers and not crash.has("in_loader"):
                continue  # Tensors that a model stacks are not samples.
            if is_ragged(crash):
                yield crash.finding(
                    self.name,
                    diagnosed(crash),
                    evidence=_evidence(crash),
                    location=loader_at_work(crash),
                )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case PartsDiffer(part=part, first=first, other=other):
                last = differ_in_the_last(first, other)
                yield from padding.padded(finding.location, source, part=part, last=last)
            case _:
                yield from padding.padded(finding.location, source, part=None, last=False)


def is_ragged(crash: CrashView) -> bool:
    """Tell whether an exception is about samples that cannot be stacked."""
    match crash.said:
        case SamplesDiffer() | RowsDiffer() | Stacked(first=list()):
            return True
        case (
            Joined() | ArraysDiffer()
        ):  # Other code raises these too, so they count only while a DataLoader builds a batch.
            if "indices" in crash.event.facts:
                return "index" not in crash.event.facts
            # A stream of samples has no indices; its worker raised in torch's own collate function.
            return isinstance(crash.said, ArraysDiffer) and crash.is_in_loader
    return False


def differ_in_the_last(first: Shape | None, other: Shape | None) -> bool:
    """Tell whether two shapes differ in the last dimension but not in the first."""
    if not first or not other or len(first) < 2:
        return False
    return first[0] == other[0] and first[-1] != other[-1]


def diagnosed(crash: CrashView) -> SamplesOfSizes:
    """Return the samples that differ and their sizes, as far as they are known."""
    part, indices = crash.fact("field"), crash.numbers("indices") or []
    if part is not None and crash.event.facts.get("first_index") is not None:
        return PartsDiffer(
            part=part if part not in WHOLE_SAMPLE else None,
            first=crash.numbers("first_size"),
            other=crash.numbers("other_size"),
            first_index=crash.count("first_index"),
            other_index=crash.count("other_index"),
        )
    match crash.said:
        case RowsDiffer(first=length, other=longer):
            return RowsOfLengths(expression=crash.expression, lengths=[length, longer])
        case Stacked(
            first=list(first), other=list(other), first_entry=int(one), other_entry=int(two)
        ):
            if two < len(indices):
                return SamplesStacked(
                    first=first, other=other, first_index=indices[one], other_index=indices[two]
                )
            return TensorsStacked(
                first=first,
                other=other,
                expression=crash.expression,
                first_entry=one,
                other_entry=two,
            )
    return SamplesOfSizes()


def _evidence(crash: CrashView) -> list[Evidence]:
    found = []
    different, indices = crash.count("different"), crash.numbers("indices")
    if different is not None and indices is not None:
        words = f"{different} different sizes in this batch of {len(indices)}"
        found.append(Evidence(words, value=float(different)))
    made = crash.place("getitem")
    if made is not None:
        found.append(Evidence("the samples come from here", location=made))
    return found
