from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import shapes
from torchwhy.detect.rules.message_kinds import Features, Product
from torchwhy.detect.rules.torch_layers import FEATURE_SIZES
from torchwhy.detect.views.crash.crash_evidence import at, layer_words
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.detect.views.crash.misfits import Misfit, OtherSize
from torchwhy.detect.views.crash.operand_trials import BATCH_OF_TWO, BATCHED_MODEL
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Layer
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class OtherFeatures(OtherSize):
    """A layer was constructed for a different number of features than its input has."""

    message = (
        "{layer} expects {wanted} features but gets {given}: {tensor} in {expression}{fitting}"
    )


class LinearSizeMismatch(Detector):
    """A layer was constructed for a different number of features than its input has."""

    name = "linear-size-mismatch"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            layer = crash.layer
            if layer is None or crash.is_in_loader or not _is_over_features(layer):
                continue
            if crash.working(BATCHED_MODEL, BATCH_OF_TWO):
                continue  # The sizes fit with a batch dimension: missing-batch-dimension reports it.
            match crash.said:
                case Features(given=given, wanted=wanted):
                    yield self._finding(crash, layer, given=given, wanted=wanted)
                case Product(left=int(given), right=int(wanted)):
                    yield self._finding(crash, layer, given=given, wanted=wanted)

    def _finding(self, crash: CrashView, layer: Layer, *, given: int, wanted: int) -> Finding:
        misfit = Misfit(crash, layer, ("flatten-input", "transpose-input"))
        return crash.finding(
            self.name,
            misfit.diagnosed(OtherFeatures, wanted=wanted, given=given),
            evidence=[
                _wanted(crash, layer, given=given, wanted=wanted),
                *misfit.favoured("features"),
                *crash.walk_evidence,
                *crash.operand_evidence,
            ],
            location=misfit.location,
            fixes=misfit.fixes("resize-layer", "transpose-input"),
        )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case OtherFeatures(fits_resized=True, given=given, wanted=wanted):
                yield from shapes.resized(finding.location, source, right=given, wrong=wanted)


def _is_over_features(layer: Layer) -> bool:
    return any(name in layer.settings for name in FEATURE_SIZES)


def _wanted(crash: CrashView, layer: Layer, *, given: int, wanted: int) -> Evidence:
    """Return where each of the two sizes comes from."""
    words = f"{layer_words(layer)}{at(layer.made_at)} expects {wanted}"
    stations = [station for station in crash.event.walk if station.shape]
    is_known = isinstance(layer.settings.get("in_features", 0.0), float)
    if is_known and stations and stations[-1].shape[-1] == given:
        before = stations[-2].shape if len(stations) > 1 else []
        words += f"; {given}{factors(given, before)} comes from {stations[-1].what}{at(stations[-1].location)}"
    return Evidence(words)


def factors(number: int, shape: Sequence[int]) -> str:
    """Return ` = 32·7·7` if a number is the product of the last sizes of a shape, otherwise nothing."""
    for first in range(len(shape) - 2, 0, -1):
        if math.prod(shape[first:]) == number:
            return " = " + "·".join(map(str, shape[first:]))
    return ""
