"""Tells failures of an accelerator, which surface wherever somebody waits for it, from those of the code that waits."""

from __future__ import annotations

import re

import torch

# What torch raises where the kernels of a device failed; before torch 2.8, a RuntimeError with such a message.
OF_DEVICE: type[BaseException] | None = getattr(torch, "AcceleratorError", None)
OLDER = re.compile(r"(?:CUDA|HIP|XPU) error: ")


def is_of_device(problem: BaseException) -> bool:
    """Tell whether an exception reports that something failed on a device, now or earlier."""
    if OF_DEVICE is not None and isinstance(problem, OF_DEVICE):
        return True
    return isinstance(problem, RuntimeError) and OLDER.match(str(problem)) is not None
