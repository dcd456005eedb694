from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import data
from torchwhy.detect.views.crash.crash_facts import (
    crashes,
    finding_of,
    idea,
    layer_of,
    says,
    sizes,
    walk_evidence,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Crash, LoaderFacts
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

ONE = (
    r"Expected more than 1 (?:value per channel|spatial element) when training, "
    r"got input size (?:torch\.Size\()?\[(?P<shape>[\d, ]*)\]"
)


class BatchnormOfOne(Detector):
    """Batch normalisation got a single value per channel to normalise with."""

    name = "batchnorm-of-one"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            found = says(crash, ONE)
            if found is None:
                continue
            shape = [int(size) for size in found["shape"].split(",") if size.strip()]
            yield finding_of(
                trace,
                crash,
                detector=self.name,
                message=_message(crash, shape),
                evidence=[*_evidence(crash, shape), *walk_evidence(crash)],
                fixes=list(_fixes(crash)),
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:  # noqa: ARG002 - the contract's
        yield from data.loader_option(source, "drop_last")


def _message(crash: Crash, shape: list[int]) -> str:
    layer = layer_of(crash)
    text = layer.text.split(",")[0].rstrip(")") + ")" if layer is not None else ""
    name = f"`{layer.path}` ({text})" if layer is not None else "a normalisation layer"
    rest = _remainder(crash.loader)
    if rest == 1 and crash.loader is not None:
        return (
            f"{name} got a batch of one sample: {crash.loader.dataset_length} samples in batches of "
            f"{crash.loader.batch_size} leave 1, and one value has no variance"
        )
    if len(shape) > 2:
        return f"{name} got {sizes(shape)}: one value per channel, which has no variance to normalise with"
    return f"{name} got a single sample ({sizes(shape)}) in training mode, and one value has no variance"


def _remainder(loader: LoaderFacts | None) -> int | None:
    if (
        loader is None
        or loader.dataset_length is None
        or not loader.batch_size
        or loader.batch_size == 1
    ):
        return None
    in_hand = loader.last_batch[0] if loader.last_batch else ""
    return (
        loader.dataset_length % loader.batch_size if "[1," in in_hand or "[1]" in in_hand else None
    )


def _evidence(crash: Crash, shape: list[int]) -> Iterator[Evidence]:
    yield Evidence(f"the input of the layer is {sizes(shape)}", step=crash.step)
    if crash.loader is not None and crash.loader.batch_size == 1:
        yield Evidence("the loader's batch size is 1")


def _fixes(crash: Crash) -> Iterator[Fix]:
    if _remainder(crash.loader) == 1:
        yield idea("give the DataLoader `drop_last=True`")
    elif crash.loader is not None and crash.loader.batch_size == 1:
        yield idea(
            "train with a batch size of 2 or more, or normalise with `nn.GroupNorm` or `nn.LayerNorm`"
        )
    else:
        yield idea(
            "call `model.eval()` before single samples are shown to the model, and `model.train()` after"
        )
        yield idea(
            "if this is training: use batches of 2 or more, or `nn.LayerNorm` or `nn.GroupNorm` instead"
        )
