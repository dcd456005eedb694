from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
import torch

from tests.devices.device_runs import DeviceRuns

NEEDED = ("create_empty_tensor", "register_python_privateuseone_hook")


def why_no_device() -> str | None:
    """Return why this torch or this system cannot carry a device written in Python."""
    registration = torch.utils.backend_registration
    if not hasattr(registration, "_setup_privateuseone_for_python_backend"):
        return f"torch {torch.__version__} cannot register a device written in Python"
    if not all(hasattr(getattr(torch._C, "_acc", None), name) for name in NEEDED):
        return f"torch {torch.__version__} cannot make tensors of such a device"
    if not hasattr(torch._C, "_construct_storage_from_data_pointer"):
        return f"torch {torch.__version__} cannot make memory of such a device"
    return "the toy device reserves addresses as Unix does" if sys.platform == "win32" else None


@pytest.fixture(scope="package")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeviceRuns]:
    reason = why_no_device()
    if reason is not None:
        pytest.skip(reason)
    made = DeviceRuns(tmp_path_factory.mktemp("devices"))
    yield made
    made.close()
