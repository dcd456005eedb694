from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.rules.message_kinds import Devices, ToNumpy
from torchwhy.detect.rules.torch_messages import devices_in
from torchwhy.detect.views.crash.crash_evidence import of_layer, of_origin
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Finding
from torchwhy.record.events import NamedTensor
from torchwhy.record.trace import Trace

ELSEWHERE = "another device"
META = "meta"  # A device without memory.


class NotOnCpu(Diagnosis):
    """The program converts a tensor to NumPy that is not on the CPU."""

    tensor: str
    device: str
    expression: str
    message = "{tensor} is on {device}, but {expression} needs it on the CPU"
    advice = "copy it to the CPU first: `{tensor}.detach().cpu()`"


class DevicesDiffer(Diagnosis):
    """One tensor is on another device than the others of the operation."""

    tensor: str | None
    device: str
    layer: str | None  # the layer on the other device
    other_device: str
    expression: str
    is_moved: bool  # a tried fix already moves the tensor
    message = "{name} is on {device}, but {others} on {other_device}: {expression} needs them on one device"

    @property
    def name(self) -> str:
        """Return the tensor to move."""
        return self.tensor or "one tensor"

    @property
    def others(self) -> str:
        """Return the layer or the tensors on the other device, with the verb."""
        return f"{self.layer} is" if self.layer is not None else "the others are"

    @property
    def remedies(self) -> tuple[str, ...]:
        if self.tensor is None:
            return ()
        moved = () if self.is_moved else (f"move it: `{self.tensor}.to({self.other_device!r})`",)
        of_module, _, attribute = self.tensor.partition(".")
        if of_module != "self":
            return moved
        buffer = (
            f"register it so that it moves with the model: `self.register_buffer({attribute!r}, …)`"
        )
        return (*moved, buffer)


class NeverMaterialised(Diagnosis):
    """A layer was made on the meta device, which keeps shapes and no values, and meets real numbers."""

    layer: str
    tensor: str
    expression: str
    message = (
        "{layer} is still on the meta device, which keeps shapes and no values: {expression} cannot "
        "combine it with {tensor}"
    )
    advice = (
        "make it on a real device, or give it memory with `module.to_empty(device=…)` and then load or "
        "initialise its weights before it runs"
    )


class DeviceMismatch(Detector):
    """One operation got tensors on different devices."""

    name = "device-mismatch"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if not crash.is_in_loader and isinstance(crash.said, Devices):
                yield self._finding(crash)

    def _finding(self, crash: CrashView) -> Finding:
        odd, device = _odd_one(crash)
        layer = crash.refusing_layer
        is_empty = device == META and layer is not None
        moved = crash.fixes("move-tensor")
        diagnosis: Diagnosis
        match crash.said:
            case ToNumpy(device=there):
                moved = []
                name = crash.event.operands[0].name if crash.event.operands else "the tensor"
                diagnosis = NotOnCpu(tensor=name, device=there, expression=crash.expression)
            case _ if is_empty and layer is not None:
                moved = []
                diagnosis = NeverMaterialised(
                    layer=layer.path,
                    tensor=odd.name if odd is not None else "real numbers",
                    expression=crash.expression,
                )
            case _:
                diagnosis = DevicesDiffer(
                    tensor=odd.name if odd is not None else None,
                    device=odd.device if odd is not None else ELSEWHERE,
                    layer=layer.path if layer is not None else None,
                    other_device=device,
                    expression=crash.expression,
                    is_moved=bool(moved),
                )
        return crash.finding(
            self.name,
            diagnosis,
            evidence=[
                *(() if is_empty else of_origin(odd)),
                *of_layer(crash.layer),
                *crash.operand_evidence,
                *crash.walk_evidence,
            ],
            fixes=moved,
        )


def _odd_one(crash: CrashView) -> tuple[NamedTensor | None, str]:
    """Return the tensor to move and the device of the others; weights never move."""
    weights = [tensor.device for tensor in crash.tensors if tensor.kind == "parameter"]
    layer_device = crash.fact("layer_device")
    weights += [layer_device] if layer_device is not None else []
    given = crash.layer_input.tensor
    if given is not None:
        if not crash.layer_input.is_named:
            alike = (one for one in crash.event.operands if one.device == given.device)
            given = next(alike, given)
        named = (*weights, *devices_in(crash.event.message))
        return given, next((device for device in named if device != given.device), ELSEWHERE)
    others = [tensor.device for tensor in crash.tensors if tensor.device != "cpu"]
    common = (weights or others or ["cpu"])[0]
    odd = (tensor for tensor in crash.tensors if tensor.device != common and tensor.shape)
    return next(odd, None), common
