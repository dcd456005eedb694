from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.everyday import checkpoint_loading, devices
from torchwhy.detect.rules import message_kinds as kinds
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.detect.views.crash.device_places import Choice, device_chosen
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Finding, Fix
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

INSTALL = (
    "to use a GPU of this machine, install a torch that is built for it (pytorch.org/get-started)"
)

COUNT = "count from 0 up to `torch.cuda.device_count() - 1`; `CUDA_VISIBLE_DEVICES` hides GPUs and renumbers the others"


class NoSuchDevice(Diagnosis):
    """The program uses a kind of device that is not there."""

    expression: str
    device: str  # `cuda`, `mps`
    torch_version: str | None
    is_built_in: bool | None  # None if unknown
    option: str | None  # the option of the command line that chooses the device
    message = "`{expression}` needs {a_device}, but {why}"

    @property
    def a_device(self) -> str:
        """Return the device with its article."""
        return "an MPS device" if self.device == "mps" else f"a {self.device.upper()} device"

    @property
    def why(self) -> str:
        """Return what is known of this machine."""
        version = f" ({self.torch_version})" if self.torch_version is not None else ""
        if self.is_built_in is False:
            return f"the torch installed here{version} is built without {self.device.upper()}"
        return "torch finds none on this machine"

    @property
    def remedies(self) -> tuple[str, ...]:
        choice = devices.IS_THERE.get(self.device)
        found = []
        if self.option is not None:
            found.append(f"run with `{self.option} cpu`")
        if choice is not None:
            found.append(
                f'choose the device by what is there: `"{self.device}" if torch.{choice} else "cpu"`'
            )
        return (
            (*found, INSTALL) if self.is_built_in is False and self.device == "cuda" else (*found,)
        )


class NoSuchNumber(NoSuchDevice):
    """The program uses a GPU by a number that is too large."""

    gpus: int | None
    message = "`{expression}` uses a GPU by a number that is not there: {count}"

    @property
    def count(self) -> str:
        """Return how many GPUs there are."""
        if self.gpus is None:
            return "torch sees fewer GPUs"
        return "torch sees one GPU, `cuda:0`" if self.gpus == 1 else f"torch sees {self.gpus} GPUs"

    @property
    def remedies(self) -> tuple[str, ...]:
        return (COUNT,)


class SavedElsewhere(NoSuchDevice):
    """A checkpoint holds tensors of a device that is not there."""

    file: str | None
    message = "the tensors in {what} were saved on {a_device}, and `{expression}` puts them there again, but {why}"
    advice = 'load them to the CPU: `torch.load(…, map_location="cpu")`'

    @property
    def what(self) -> str:
        """Return the file."""
        return self.file if self.file is not None else "the checkpoint"

    @property
    def remedies(self) -> tuple[str, ...]:
        return (self.advice,)


class MissingDevice(Detector):
    """The program uses a device that this machine, or the installed torch, does not have."""

    name = "missing-device"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if isinstance(crash.said, kinds.MissingDevice):
                yield self._finding(crash, crash.said)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case SavedElsewhere():
                yield from checkpoint_loading.loaded_to_cpu(finding.location, source)
            case NoSuchNumber():
                return
            case NoSuchDevice(device=device):
                yield from devices.chosen_by_what_is_there(finding.location, source, device=device)

    def _finding(self, crash: CrashView, said: kinds.MissingDevice) -> Finding:
        device = said.device.lower()
        is_load = isinstance(said, kinds.LoadedToMissingDevice)
        chosen = Choice(None, None) if is_load else device_chosen(crash, device)
        common: dict[str, Any] = {
            "expression": crash.expression,
            "device": device,
            "torch_version": crash.fact("torch_version"),
            "is_built_in": _is_built_in(crash, device),
            "option": chosen.option,
        }
        diagnosis: NoSuchDevice
        match said:
            case kinds.LoadedToMissingDevice():
                diagnosis = SavedElsewhere(**common, file=crash.fact("checkpoint"))
            case kinds.DeviceNumber():
                diagnosis = NoSuchNumber(**common, gpus=crash.count("gpus"))
            case _:
                diagnosis = NoSuchDevice(**common)
        return crash.finding(self.name, diagnosis, location=chosen.place)


def _is_built_in(crash: CrashView, device: str) -> bool | None:
    """Tell whether the installed torch is built for a kind of device; None if that is not recorded."""
    built = crash.event.facts.get("built_for_cuda")
    if device == "cuda" and isinstance(built, bool):
        return built
    return False if device in ("mps", "xpu") and isinstance(built, bool) else None
