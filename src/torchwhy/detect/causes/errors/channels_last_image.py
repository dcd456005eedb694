from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.causes.errors.channel_mismatch import is_channels_last
from torchwhy.detect.rules.message_kinds import Channels
from torchwhy.detect.views.crash.crash_evidence import Sized, at, layer_words
from torchwhy.detect.views.crash.crash_view import crashes
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.events import Layer
from torchwhy.record.trace import Trace


class ChannelsLast(Diagnosis):
    """A convolution got images whose channels are in the last dimension."""

    tensor: Sized
    channels: int
    given: int  # the size of dimension 1
    expression: str
    message = (
        "{tensor} has its {channels} channels in the last dimension, but {expression} expects them "
        "before height and width"
    )


class ChannelsLastImage(Detector):
    """A convolution got images whose channels are in the last dimension."""

    name = "channels-last-image"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            match crash.said, crash.layer:
                case Channels(wanted=wanted, given=given), Layer() as layer:
                    if crash.is_in_loader or not is_channels_last(crash):
                        continue
                    diagnosis = ChannelsLast(
                        tensor=crash.layer_input.sized,
                        channels=wanted,
                        given=given,
                        expression=crash.expression,
                    )
                    sizes = Evidence(
                        f"{layer_words(layer)}{at(layer.made_at)} expects {wanted} channels; "
                        f"the last dimension is {wanted}, dimension 1 is {given}"
                    )
                    yield crash.finding(
                        self.name,
                        diagnosis,
                        evidence=[sizes, *crash.operand_evidence, *crash.walk_evidence],
                        fixes=crash.fixes("permute-input"),
                    )
