"""Notes which kinds of device the installed torch was built for and can use here."""

from __future__ import annotations

import torch

from torchwhy.replay.crash.hidden.hidden_facts import HiddenFacts


def note_devices(hidden: HiddenFacts) -> None:
    """Note the build of torch and the number of GPUs that it sees."""
    built_for = torch.version.cuda or getattr(torch.version, "hip", None)
    hidden.facts["torch_version"] = str(torch.__version__)
    hidden.facts["built_for_cuda"] = built_for is not None
    # Counting asks the driver and starts no context on a GPU.
    hidden.facts["gpus"] = float(torch.cuda.device_count() if built_for is not None else 0)
