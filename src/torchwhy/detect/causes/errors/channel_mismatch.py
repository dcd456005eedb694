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
    """A layer was made for another number of channels than it is given."""

    message = (
        "{layer} takes {wanted} channels and is given {given}: {tensor} in {expression}{fitting}"
    )


class ChannelMismatch(Detector):
    """A convolution or normalisation layer was made for another number of channels than it is given."""

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
    """Tell whether the input is an image that fits after its channels are moved to the front.

    Channels are fewer than rows and columns; a feature map that happens to be as wide as it has channels is no image.
    """
    shape = crash.numbers("layer_input")
    if crash.layer is None or crash.layer.kind not in IMAGE_CONVOLUTIONS:
        return False
    if shape is not None and len(shape) > 2 and shape[-1] >= min(shape[-3:-1]):
        return False
    return bool(crash.working("permute-input"))


def _wanted(misfit: Misfit, said: Channels) -> Evidence:
    """Return where the layer was made, and where the channels come from that it is given."""
    layer = misfit.layer
    source = "" if misfit.fitting_change is not None else _source(misfit.crash, said.given)
    return Evidence(f"{layer_words(layer)}{at(layer.made_at)} wants {said.wanted} channels{source}")


def _source(crash: CrashView, given: int) -> str:
    """Return which station made the channels that came."""
    walk = crash.event.walk
    for station in reversed(walk):
        if len(station.shape) > 1 and station.shape[1] != given:
            break
        made = station
    else:
        return f"; the input itself has {given}" if walk else ""
    return f"; {given} come from {made.what}{at(made.location)}" if station is not walk[-1] else ""
