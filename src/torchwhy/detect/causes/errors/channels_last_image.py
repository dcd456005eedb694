from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.causes.errors.channel_mismatch import channels, is_channels_last
from torchwhy.detect.views.crash.crash_facts import (
    at,
    crashes,
    expression_of,
    finding_of,
    fixes_of,
    is_in_loader,
    layer_input,
    layer_of,
    layer_words,
    operand_evidence,
    size,
    walk_evidence,
)
from torchwhy.finding import Evidence, Finding
from torchwhy.record.trace import Trace


class ChannelsLastImage(Detector):
    """Images with their channels in the last dimension go into a convolution."""

    name = "channels-last-image"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            layer, pair = layer_of(crash), channels(crash)
            if layer is None or pair is None or is_in_loader(crash) or not is_channels_last(crash):
                continue
            name, tensor = layer_input(crash)
            shape = f" ({size(tensor)})" if tensor is not None else ""
            yield finding_of(
                trace,
                crash,
                detector=self.name,
                message=f"{name}{shape} has its {pair[0]} channels in the last dimension, but {expression_of(crash)} "
                "wants them before height and width",
                evidence=[
                    Evidence(
                        f"{layer_words(layer)}{at(layer.made_at)} wants {pair[0]} channels; "
                        f"the last dimension is {pair[0]}, dimension 1 is {pair[1]}"
                    ),
                    *operand_evidence(crash),
                    *walk_evidence(crash),
                ],
                fixes=fixes_of(crash, "permute-input"),
            )
