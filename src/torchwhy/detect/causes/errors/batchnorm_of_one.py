from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import data
from torchwhy.detect.rules.message_kinds import OneValuePerChannel
from torchwhy.detect.views.crash.batch_parts import rows_of
from torchwhy.detect.views.crash.crash_evidence import sizes
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.detect.views.crash.loader_places import loader_of_batch
from torchwhy.diagnosis import Diagnosis, Shape
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Layer, LoaderFacts
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class OneValue(Diagnosis):
    """A normalisation layer in training mode got one value per channel."""

    layer: str | None
    made_as: str
    shape: Shape
    batch_size: int | None  # of the DataLoader
    step: int

    @property
    def remedies(self) -> tuple[str, ...]:
        if self.batch_size == 1:
            return (
                "train with a batch size of 2 or more, or normalise with `nn.GroupNorm` or `nn.LayerNorm`",
            )
        return (
            "call `model.eval()` before the model gets single samples, and `model.train()` afterwards",
            "if this is training, use batches of 2 or more, or `nn.LayerNorm` or `nn.GroupNorm` instead",
        )

    @property
    def who(self) -> str:
        """Return the layer with its constructor, `fc.1` (BatchNorm1d(8))."""
        known = self.layer is not None
        return f"`{self.layer}` ({self.made_as})" if known else "a normalisation layer"

    @property
    def given(self) -> str:
        """Return the shape of the input in words."""
        return sizes(self.shape)

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(f"the input of the layer is {self.given}", step=self.step)
        if self.batch_size == 1:
            yield Evidence("the batch size of the DataLoader is 1")


class SingleSample(OneValue):
    """The batch has one sample."""

    message = "{who} got a single sample ({given}) in training mode, but one value has no variance"


class OnePixel(OneValue):
    """The batch has one sample, and each channel of it one pixel."""

    message = "{who} got {given}: one value per channel, which has no variance"


class OneSampleLeft(OneValue):
    """The last batch has only the one sample that the full batches leave over."""

    samples: int
    message = (
        "{who} got a batch of one sample: {samples} samples in batches of {batch_size} leave 1, "
        "but one value has no variance"
    )
    advice = "give the DataLoader `drop_last=True`"

    @property
    def remedies(self) -> tuple[str, ...]:
        return (self.advice,)


class BatchnormOfOne(Detector):
    """A batch normalisation layer in training mode got one value per channel."""

    name = "batchnorm-of-one"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            match crash.said:
                case OneValuePerChannel(shape=shape):
                    diagnosis = diagnosed(crash, shape)
                    yield crash.finding(
                        self.name,
                        diagnosis,
                        evidence=crash.walk_evidence,
                        location=loader_of_batch(crash) if _is_loaders(diagnosis) else None,
                    )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:  # noqa: ARG002 - the contract's
        yield from data.loader_option(source, "drop_last")


def diagnosed(crash: CrashView, shape: Shape) -> OneValue:
    """Return why the layer got a single value per channel."""
    layer, loader, step = crash.layer, crash.event.loader, crash.event.step
    path, made_as = (layer.path, _made_as(layer)) if layer is not None else (None, "")
    size = loader.batch_size if loader is not None else None
    samples = _samples_that_leave_one(loader)
    if samples is not None:
        return OneSampleLeft(
            layer=path, made_as=made_as, shape=shape, batch_size=size, step=step, samples=samples
        )
    kind = OnePixel if len(shape) > 2 else SingleSample
    return kind(layer=path, made_as=made_as, shape=shape, batch_size=size, step=step)


def _is_loaders(diagnosis: OneValue) -> bool:
    """Tell whether the cure is an argument of the DataLoader: its batches, not the layer, are too small."""
    return isinstance(diagnosis, OneSampleLeft) or diagnosis.batch_size == 1


def _made_as(layer: Layer) -> str:
    """Return the constructor with its first argument only: `BatchNorm1d(8)`."""
    return layer.text.split(",")[0].rstrip(")") + ")"


def _samples_that_leave_one(loader: LoaderFacts | None) -> int | None:
    """Return the length of the dataset if its full batches leave one sample and the failing batch is that one."""
    if loader is None or loader.dataset_length is None or not loader.batch_size:
        return None
    is_last = rows_of(loader.last_batch) == 1 and loader.dataset_length % loader.batch_size == 1
    return loader.dataset_length if is_last else None
