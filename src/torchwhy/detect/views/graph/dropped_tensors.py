"""Results that the program throws away, from the recorded operations and the stored text of the program."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from torchwhy.plain_data import dataclass
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import DroppedResult
from torchwhy.source.analyses import dropped_values
from torchwhy.source.calls import keyword, last_word
from torchwhy.source.edits import Source
from torchwhy.source.values import is_true

# Packages of torch whose functions return a new tensor and do nothing else.
PURE = ("torch", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special")
CAST = frozenset({"to_copy"})
VIEWS = frozenset({"view", "unsafe_view", "clone", "reshape_alias"})
# Methods whose operation has another name.
OPERATIONS = {
    **dict.fromkeys(("to", "float", "double", "half", "bfloat16", "long", "int", "bool"), CAST),
    **dict.fromkeys(("type", "type_as", "cpu", "cuda"), CAST),
    **dict.fromkeys(("reshape", "flatten", "contiguous", "view_as", "reshape_as"), VIEWS),
    "matmul": frozenset({"mm", "bmm", "mv", "dot"}),
    "clip": frozenset({"clamp"}),
    "true_divide": frozenset({"div"}),
    "divide": frozenset({"div"}),
    "multiply": frozenset({"mul"}),
    "subtract": frozenset({"sub"}),
}


@dataclass(frozen=True)
class DroppedTensor:
    """A statement whose value is a tensor that goes nowhere."""

    seen: DroppedResult
    source: Source
    node: ast.expr

    @property
    def text(self) -> str:
        """Return the statement on one line."""
        return " ".join(self.source.of(self.node).split())

    @property
    def variable(self) -> str | None:
        """Return the variable that the statement was meant to change."""
        return dropped_values.replaceable(self.source, self.node)

    @property
    def fits(self) -> bool:
        """Tell whether the result could take the place of the operand: it has as many elements."""
        return math.prod(self.seen.shape) == math.prod(self.seen.given)

    @property
    def may_be_shown(self) -> bool:
        """Tell whether an editor may show the value."""
        return dropped_values.may_be_shown(self.source, self.node)


def dropped_tensors(trace: Trace) -> Iterator[DroppedTensor]:
    """Yield the statements that compute a tensor and nothing else, where no exception is the purpose."""
    for seen in trace.of(DroppedResult):
        source = trace.files.get(seen.location.file)
        node = dropped_values.dropped_value(source, seen.location) if source is not None else None
        if source is None or node is None or dropped_values.may_be_a_trial(source, node):
            continue
        if _gives_a_tensor(source, node, seen):
            yield DroppedTensor(seen, source, node)


def _gives_a_tensor(source: Source, node: ast.expr, seen: DroppedResult) -> bool:
    """Tell whether the value of the statement is what its operations computed."""
    if not isinstance(node, ast.Call):
        return seen.issuer == "user"  # an operator in the program, on tensors themselves
    name = last_word(node.func) or ""
    in_place = keyword(node, "inplace")
    if name.endswith("_") or keyword(node, "out") or (in_place is not None and is_true(in_place)):
        return False
    function = dropped_values.torch_function(source, node.func)
    if function is not None:
        return function.rpartition(".")[0] in PURE and not name.startswith("_") and name != "save"
    layer = dropped_values.own_layer(node)
    if layer is not None:
        return seen.module is not None and layer in seen.module.split(".")
    return isinstance(node.func, ast.Attribute) and any(
        _is_operation_of(name, one.strip("_")) for one in seen.operations
    )


def _is_operation_of(method: str, operation: str) -> bool:
    """Tell whether a method of tensors runs an operation: `layer_norm` runs `native_layer_norm`."""
    other = operation in OPERATIONS.get(method, ())
    return other or operation == method or operation.endswith(f"_{method}")
