"""The toy device itself: it differs from the CPU where a GPU does."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.devices.conftest import why_no_device
from tests.devices.device_runs import PACKAGES

PROGRAM = """
import torch, toy_device
one = torch.arange(4.0).to("toy")
assert type(one) is torch.Tensor and one.is_toy and one.device == torch.device("toy:0")

before = torch.toy.waits()
two = (one * 2 + 1).sum()
assert torch.toy.waits() == before, "computing waits for nothing"
assert two.item() == 16.0 and bool(two) and one.cpu().tolist() == [0.0, 1.0, 2.0, 3.0]
assert torch.toy.waits() == before + 3, "item, bool and cpu wait"

state, of_cpu = torch.toy.get_rng_state(), torch.get_rng_state()
first = torch.rand(3, device="toy").cpu()
assert torch.equal(torch.get_rng_state(), of_cpu), "it draws from its own generator"
torch.toy.set_rng_state(state)
assert torch.equal(torch.rand(3, device="toy").cpu(), first)

used = torch.toy.memory_allocated()
large = torch.empty(1 << 20, device="toy")
assert torch.toy.memory_allocated() == used + (4 << 20)
del large
assert torch.toy.memory_allocated() == used
torch.toy.set_capacity(1 << 20)
try:
    torch.empty(1 << 20, device="toy")
except torch.OutOfMemoryError as refused:
    assert "Tried to allocate 4.00 MiB" in str(refused)

from torchwhy.observe.native.records import fast
if fast is not None:
    assert not fast.surely_finite(one), "the accelerator in C leaves it alone"
    assert fast.measured(one) is None
print("all as it should be")
import ctypes, sys
sys.stdout.flush()
ctypes.string_at(one.data_ptr(), 4)
print("its memory could be read")
"""


def test_the_toy_differs_from_the_cpu_where_a_gpu_does():
    reason = why_no_device()
    if reason is not None:
        pytest.skip(reason)

    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.append({str(PACKAGES)!r})\n{PROGRAM}"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout == "all as it should be\n", done.stderr
    assert done.returncode < 0  # reading its memory ended the process
