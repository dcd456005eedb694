from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import padding
from torchwhy.detect.views.crash.crash_facts import (
    crashes,
    expression_of,
    finding_of,
    idea,
    says,
    sizes,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Crash
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

STACK = (
    r"stack expects each tensor to be equal size, but got \[(?P<first>[\d, ]*)\] at entry (?P<place>\d+) "
    r"and \[(?P<other>[\d, ]*)\] at entry (?P<other_place>\d+)"
)
LISTS = r"each element in list of batch should be of equal size"
ROWS = r"expected sequence of length (?P<first>\d+) at dim \d+ \(got (?P<other>\d+)\)"
# Said also of other things, so they count only while a loader makes a batch.
IN_LOADER = (
    r"Sizes of tensors must match except in dimension",
    r"all input arrays must have the same shape",
    r"inhomogeneous shape",
    r"Trying to resize storage that is not resizable",
)


class RaggedBatch(Detector):
    """The samples of a batch have different sizes and cannot be stacked."""

    name = "ragged-batch"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if crash.layers and not crash.facts.get("in_loader"):
                continue  # tensors stacked inside a model are no samples
            if is_ragged(crash):
                yield finding_of(
                    trace,
                    crash,
                    detector=self.name,
                    message=_message(crash),
                    evidence=_evidence(crash),
                    fixes=_fixes(crash),
                )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from padding.padded(finding, source)


def is_ragged(crash: Crash) -> bool:
    """Tell whether an exception is about samples that do not fit into one tensor."""
    if says(crash, STACK) or says(crash, LISTS) or says(crash, ROWS):
        return True
    makes_batch = "indices" in crash.facts and "index" not in crash.facts
    return makes_batch and any(says(crash, pattern) for pattern in IN_LOADER)


def _message(crash: Crash) -> str:
    field, indices = crash.facts.get("field"), crash.facts.get("indices")
    stacked = says(crash, STACK)
    if isinstance(field, str) and crash.facts.get("first_index") is not None:
        first, other = _size(crash, "first_size"), _size(crash, "other_size")
        return (
            f"the samples of a batch cannot be stacked: {_field(field)} is {first} in sample "
            f"{_number(crash, 'first_index')} of the dataset and {other} in sample {_number(crash, 'other_index')}"
        )
    rows = says(crash, ROWS)
    if rows is not None:
        lengths = f"{rows['first']} and {rows['other']}"
        return f"{expression_of(crash)} makes a tensor of rows of different lengths: {lengths}"
    if stacked is None:
        return "the samples of a batch cannot be stacked: their sizes differ"
    first, other = _written(stacked["first"]), _written(stacked["other"])
    if isinstance(indices, list) and int(stacked["other_place"]) < len(indices):
        return (
            f"the samples of a batch cannot be stacked: sample {indices[int(stacked['place'])]} of the dataset has "
            f"size {first}, sample {indices[int(stacked['other_place'])]} has {other}"
        )
    return (
        f"{expression_of(crash)} stacks tensors of different sizes: number {stacked['place']} is {first}, "
        f"number {stacked['other_place']} is {other}"
    )


def _field(field: str) -> str:
    return "it" if field == "the sample" else f"its part {field}"


def _size(crash: Crash, name: str) -> str:
    shape = crash.facts.get(name)
    return sizes(shape) if isinstance(shape, list) else "of another size"


def _written(numbers: str) -> str:
    return sizes([int(number) for number in numbers.split(",") if number.strip()])


def _number(crash: Crash, name: str) -> str:
    value = crash.facts.get(name)
    return f"{value:g}" if isinstance(value, float) else "?"


def _evidence(crash: Crash) -> list[Evidence]:
    found = []
    different, indices = crash.facts.get("different"), crash.facts.get("indices")
    if isinstance(different, float) and isinstance(indices, list):
        found.append(
            Evidence(
                f"{different:g} different sizes in this batch of {len(indices)}", value=different
            )
        )
    if "getitem" in crash.places:
        found.append(Evidence("the samples come from here", location=crash.places["getitem"]))
    return found


def _fixes(crash: Crash) -> list[Fix]:
    shape = crash.facts.get("first_size")
    if isinstance(shape, list) and len(shape) >= 3:
        return [idea("bring every sample to one size (resize, crop or pad) before it is returned")]
    return [
        idea(
            "give the DataLoader a `collate_fn` that pads: "
            "`torch.nn.utils.rnn.pad_sequence(samples, batch_first=True)`, and mask the padding in the loss"
        ),
        idea("cut or pad every sample to one length in the dataset's `__getitem__`"),
    ]
