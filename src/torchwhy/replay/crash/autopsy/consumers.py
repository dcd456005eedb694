"""For an impossible reshape, finds the later layer that takes the requested size."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from torch import nn

from torchwhy.replay.crash.trials.layer_sizes import wanted_size

if TYPE_CHECKING:
    from torchwhy.replay.crash.autopsy.case import Case

ASKED = re.compile(r"shape '\[([-\d, ]+)\]' is invalid for input of size \d+")


def consumer_facts(case: Case) -> dict[str, Any]:
    """Return the path of the first linear layer that takes the last requested size, and that size."""
    asked = ASKED.search(str(case.error))
    if asked is None or not case.modules:
        return {}
    size = int(asked[1].split(",")[-1])
    for module in case.modules[0].modules():
        if isinstance(module, nn.Linear) and wanted_size(module) == size:
            return {"taker": case.path_of(module), "taker_size": float(size)}
    return {}
