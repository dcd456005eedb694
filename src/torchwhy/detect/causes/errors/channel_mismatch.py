from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import shapes
from torchwhy.detect.rules.message_kinds import Channels
from torchwhy.detect.rules.torch_layers import IMAGE_CONVOLUTIONS
from torchwhy.detect.views.crash.crash_evidence import at, layer_words
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.detect.views.crash.misfits import Misfit, OtherSize
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Layer
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class OtherChannels(OtherSize):
    """A layer was constructed for a different number of channels than its input has."""

    message = (
        "{layer} expects {wanted} channels but gets {given}: {tensor} in {expression}{fitting}"
    )


class ChannelMismatch(Detector):
    """A convolution or normalisation layer was constructed for a different number of channels than its input has."""

    name = "channel-mismatch"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            match crash.said, crash.layer:
                case Channels() as said, Layer() as layer:
                    if not crash.is_in_loader and not is_channels_last(crash):
                        yield self._finding(crash, layer, said)

    def _finding(self, crash: CrashView, layer: Layer, said: Channels) -> Finding:
        order = () if layer.kind in IMAGE_CONVOLUTIONS else ("permute-input",)
        misfit = Misfit(crash, layer, (*order, "add-channel"))
        return crash.finding(
            self.name,
            misfit.diagnosed(OtherChannels, wanted=said.wanted, given=said.given),
            evidence=[
                _wanted(misfit, said),
                *misfit.favoured("channels"),
                *crash.walk_evidence,
                *crash.operand_evidence,
            ],
            location=misfit.location,
            fixes=misfit.fixes("resize-layer"),
        )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case OtherChannels(fits_resized=True, given=given, wanted=wanted):
                yield from shapes.resized(finding.location, source, right=given, wrong=wanted)


def is_channels_last(crash: CrashView) -> bool:
    """Tell whether the input is an image that fits once its channels come first.

    An image has fewer channels than rows and columns; a feature map may be as wide as it has channels.
    """
    shape = crash.numbers("layer_input")
    if crash.layer is None or crash.layer.kind not in IMAGE_CONVOLUTIONS:
        return False
    if shape is not None and len(shape) > 2 and shape[-1] >= min(shape[-3:-1]):
        return False
    return bool(crash.working("permute-input"))


def _wanted(misfit: Misfit, said: Channels) -> Evidence:
    """Return where the layer was constructed, and where the channels of its input come from."""
    layer = misfit.layer
    source = "" if misfit.fitting_change is not None else _source(misfit.crash, said.given)
    return Evidence(
        f"{layer_words(layer)}{at(layer.made_at)} expects {said.wanted} channels{source}"
    )


def _source(crash: CrashView, given: int) -> str:
    """Return the layer or operation that made the channels of the input, in words."""
    walk = crash.event.walk
    for station in reversed(walk):
        if len(station.shape) > 1 and station.shape[1] != given:
            break
        made = station
    else:
        return f"; the input itself has {given}" if walk else ""
    return f"; {given} come from {made.what}{at(made.location)}" if station is not walk[-1] else ""
