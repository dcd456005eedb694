"""Tries the failing call with a tensor permuted, with one dimension more or less, or of another dtype or device."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from torchwhy.observe.torch_features.module_parts import has_own_hooks, parts_in
from torchwhy.record.events import OperandTrial
from torchwhy.replay.crash.frames.failed_call import Call, failed_call, module_call
from torchwhy.replay.crash.frames.failed_operands import FoundOperand
from torchwhy.replay.crash.trials.layer_sizes import wanted_size
from torchwhy.source.values import binds_tightly, text_of

if TYPE_CHECKING:
    from torchwhy.replay.crash.autopsy.case import Case

Change = Callable[[torch.Tensor], torch.Tensor]
DTYPES = {
    torch.float32: "float",
    torch.float64: "double",
    torch.float16: "half",
    torch.bfloat16: "bfloat16",
    torch.int64: "long",
}
METHODS: dict[str, Change] = {
    "float": lambda t: t.float(),
    "double": lambda t: t.double(),
    "half": lambda t: t.half(),
    "bfloat16": lambda t: t.bfloat16(),
    "long": lambda t: t.long(),
}
TOO_FEW_DIMENSIONS = re.compile(
    r"expected \dD|Expected \dD|to be 2D or 3D|Dimension out of range|batch mode"
)


def layer_call(case: Case) -> tuple[nn.Module, Call, torch.Tensor] | None:
    """Return the innermost layer, its call and its input."""
    layer = case.layer
    call = module_call(case.callees, layer) if layer is not None else None
    if layer is None or call is None:
        return None
    values = [*call.args, *call.kwargs.values()]
    given = next((value for value in values if isinstance(value, torch.Tensor)), None)
    return (layer, call, given) if given is not None else None


def change_layer_input(case: Case) -> Iterator[OperandTrial]:
    """Try the layer's input in another shape."""
    found = layer_call(case)
    if found is None or loss_arguments(case) is not None:
        return
    layer, call, given = found
    for kind, text, change in _reshapes(layer, given):
        yield attempt(case, call, given, kind=kind, text=text, change=change)
    outer = outer_call(case, given)
    if outer is not None and TOO_FEW_DIMENSIONS.search(str(case.error)):
        yield attempt(
            case,
            outer[0],
            outer[1],
            kind="add-batch",
            text=".unsqueeze(0)",
            change=lambda t: t.unsqueeze(0),
        )


def outer_call(case: Case, given: torch.Tensor) -> tuple[Call, torch.Tensor] | None:
    """Return the call that the user wrote and its tensor, if the failing layer got another tensor."""
    tensors = [found.value for found in case.operands if isinstance(found.value, torch.Tensor)]
    if case.call is None or not tensors or operand_of(case, given) is not None:
        return None
    return case.call, tensors[0]


def _reshapes(layer: nn.Module, given: torch.Tensor) -> Iterator[tuple[str, str, Change]]:
    wanted, shape = wanted_size(layer), list(given.shape)
    weights = getattr(layer, "kernel_size", None)
    spatial = len(weights) if isinstance(weights, tuple) else 0
    if wanted is None:
        return
    if spatial and len(shape) == spatial + 2 and shape[-1] == wanted and shape[1] != wanted:
        order = [0, len(shape) - 1, *range(1, len(shape) - 1)]
        yield "permute-input", f".permute({', '.join(map(str, order))})", lambda t: t.permute(order)
    if spatial and len(shape) == spatial + 1 and shape[-1] == wanted and shape[0] != wanted:
        single = [len(shape) - 1, *range(len(shape) - 1)]
        yield (
            "permute-input",
            f".permute({', '.join(map(str, single))})",
            lambda t: t.permute(single),
        )
    is_norm = isinstance(layer, nn.BatchNorm1d | nn.InstanceNorm1d) and len(shape) == 3
    if is_norm and shape[-1] == wanted and shape[1] != wanted:
        yield "permute-input", ".transpose(1, 2)", lambda t: t.transpose(1, 2)
    if spatial and wanted == 1 and len(shape) == spatial + 1:
        yield "add-channel", ".unsqueeze(1)", lambda t: t.unsqueeze(1)
    if len(shape) == spatial + 1 or (not spatial and len(shape) in (1, 2, 3)):
        yield "add-batch", ".unsqueeze(0)", lambda t: t.unsqueeze(0)
    if not spatial and len(shape) > 2 and math.prod(shape[1:]) == wanted:
        yield "flatten-input", ".flatten(1)", lambda t: t.flatten(1)
    if not spatial and len(shape) >= 3 and shape[-2] == wanted and shape[-1] != wanted:
        yield "transpose-input", ".transpose(-1, -2)", lambda t: t.transpose(-1, -2)


def transpose_operands(case: Case) -> Iterator[OperandTrial]:
    """Try a product of two matrices with one of them transposed."""
    call = case.call
    tensors = [
        found
        for found in case.operands
        if isinstance(found.value, torch.Tensor) and found.value.dim() >= 2
    ]
    if call is None or case.is_loss or not re.search("multipl|batch|einsum", str(case.error)):
        return
    for found in reversed(tensors[:4]):
        yield attempt(
            case,
            call,
            found.value,
            kind="transpose-operand",
            text=".transpose(-1, -2)",
            change=lambda t: t.transpose(-1, -2),
        )


def unsqueeze_operands(case: Case) -> Iterator[OperandTrial]:
    """Try an elementwise operation with a dimension added for broadcasting."""
    call = case.call
    if (
        call is None
        or case.is_loss
        or not re.search("must match|same number of dimensions|must be a 3D", str(case.error))
    ):
        return
    tensors = [found for found in case.operands if isinstance(found.value, torch.Tensor)]
    most = max((found.value.dim() for found in tensors), default=0)
    for found in tensors:
        if 0 < found.value.dim() < most:
            for place in range(found.value.dim(), 0, -1):
                yield attempt(
                    case,
                    call,
                    found.value,
                    kind="unsqueeze-operand",
                    text=f".unsqueeze({place})",
                    change=lambda t, place=place: t.unsqueeze(place),  # type: ignore[misc]
                )


def cast_tensors(case: Case) -> Iterator[OperandTrial]:
    """Try each tensor of the failing call in the dtype of the others."""
    found = layer_call(case)
    if found is not None and loss_arguments(case) is None:
        layer, call, given = found
        weight = next(layer.parameters(), None)
        wanted = weight.dtype if weight is not None else None
        if isinstance(layer, (nn.Embedding, nn.EmbeddingBag)):
            wanted = torch.int64
        # A complex number as a real one would lose its imaginary part.
        if given.is_complex():
            return
        if wanted is not None and given.dtype != wanted and wanted in DTYPES:
            outer = outer_call(case, given)
            if outer is not None and outer[1].dtype == given.dtype:
                call, given = outer
            yield cast(case, call, given, wanted, kind="cast-input")
        return
    outermost = case.call
    if outermost is None or case.is_loss:
        return
    tensors = [one.value for one in case.operands if isinstance(one.value, torch.Tensor)]
    for value in tensors:
        for wanted in dict.fromkeys(other.dtype for other in tensors if other.dtype != value.dtype):
            loses = value.is_complex() or (
                value.is_floating_point() and not wanted.is_floating_point
            )
            if wanted in DTYPES and not loses:
                yield cast(case, outermost, value, wanted, kind="cast-input")


def move_tensors(case: Case) -> Iterator[OperandTrial]:
    """Try each tensor of the failing call on the device of the others."""
    if "device" not in str(case.error):
        return
    found = layer_call(case)
    if found is not None:
        layer, call, given = found
        weight = next(layer.parameters(), None)
        if weight is not None and weight.device != given.device:
            yield _moved(case, call, given, weight.device)
        return
    tensors = [
        one.value
        for one in case.operands
        if isinstance(one.value, torch.Tensor) and one.value.dim()
    ]
    target = next((value.device for value in tensors if value.device.type != "cpu"), None)
    if case.call is None or target is None:
        return
    for value in tensors:
        if value.device != target:
            yield _moved(case, case.call, value, target)


def _moved(case: Case, call: Call, value: torch.Tensor, device: torch.device) -> OperandTrial:
    return attempt(
        case,
        call,
        value,
        kind="move-tensor",
        text=f".to({str(device)!r})",
        change=lambda t: t.to(device),
    )


def cast(
    case: Case, call: Call, value: torch.Tensor, dtype: torch.dtype, *, kind: str
) -> OperandTrial:
    """Try one tensor in another dtype."""
    name = DTYPES[dtype]
    return attempt(case, call, value, kind=kind, text=f".{name}()", change=METHODS[name])


def loss_arguments(case: Case) -> tuple[Call, torch.Tensor, torch.Tensor] | None:
    """Return the failing loss with its input and target; None if the failing call is no loss."""
    for frame in reversed(case.callees):
        variables = frame.variables
        given, target = variables.get("input"), variables.get("target")
        if isinstance(given, torch.Tensor) and isinstance(target, torch.Tensor):
            call = failed_call(case.frame, case.callees) if case.frame is not None else None
            return (call, given, target) if call is not None else None
    return None


def attempt(
    case: Case, call: Call, value: torch.Tensor, *, kind: str, text: str, change: Change
) -> OperandTrial:
    """Repeat the failing call with one tensor changed, and make the same change in the source as a diff."""
    operand = operand_of(case, value)
    target = ""
    if operand is not None:
        target = operand.name if binds_tightly(operand.node) else f"({operand.name})"
    if case.caught and _runs_users_code(call):
        return OperandTrial(
            kind=kind,
            target=target,
            method=text,
            worked=False,
            detail="not tried, because the program goes on",
        )
    try:
        result = call.reexecute((value, change(value)))
        worked, detail = True, _outcome(result)
    except Exception as problem:
        worked, detail = False, str(problem)[:200]
    return OperandTrial(
        kind=kind,
        target=target,
        method=text,
        worked=worked,
        detail=detail,
        diff=diff_of(case, operand, text) if operand is not None else "",
    )


def _runs_users_code(call: Call) -> bool:
    """Tell whether repeating the call may run code of the user's: a module with parts or with hooks."""
    module = call.function
    if not isinstance(module, nn.Module):
        return False
    is_torchs = type(module).__module__.startswith("torch.")
    return not is_torchs or bool(parts_in(module)) or has_own_hooks(module)


def _outcome(result: Any) -> str:
    first = result[0] if isinstance(result, tuple) and result else result
    return f"gives {list(first.shape)}" if isinstance(first, torch.Tensor) else ""


def operand_of(case: Case, value: Any) -> FoundOperand | None:
    """Return the operand of the user's expression that is this very tensor."""
    return next((found for found in case.operands if found.value is value), None)


def diff_of(case: Case, operand: FoundOperand, text: str) -> str:
    """Return the diff that puts a method call behind an operand in the user's expression."""
    node = operand.node
    if node is None:
        return ""
    written = text_of(node)
    changed = written + text if binds_tightly(node) else f"({written}){text}"
    return case.diff_of(node, changed)
