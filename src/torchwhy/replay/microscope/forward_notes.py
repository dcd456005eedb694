"""Notes of each forward operation its shapes, plain arguments and views, and where graphs are cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchwhy.observe.steps import gradients
from torchwhy.observe.torch_features.tensor_parts import storage_key, weak_storage
from torchwhy.replay.microscope import tensor_facts
from torchwhy.replay.microscope.operations import Operation, tensors_in
from torchwhy.replay.samples.given_batches import GivenBatch, Leaf
from torchwhy.replay.samples.operands import chosen_rows, data_operands

KEEPS_ARGUMENTS = {
    "where",
    "masked_fill",
    "masked_fill_",
    "mul",
    "index",
    "masked_select",
    "nan_to_num",
}
LOSS_OPERATIONS = {
    "_log_softmax", "_softmax", "nll_loss_forward", "nll_loss2d_forward", "binary_cross_entropy", "_ctc_loss",
    "binary_cross_entropy_with_logits", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "log",
    "sigmoid",
}  # fmt: skip
OF_LABELS = {"nll_loss_forward", "nll_loss2d_forward"}
DIFFERENCES = {"sub", "rsub"}  # the start of many losses that programs write out
MOST_MEASURED = (
    1_000_000  # elements of an operand of a difference, up to which its range is measured
)
SIGNS = {"eq"}  # by which torch's losses choose between labels 1 and -1
CUTS = {"detach", "detach_"}
PLAIN = {int, float, bool, str, type(None), torch.dtype}

Geometry = tuple[int, int, tuple[int, ...], tuple[int, ...], bool]
Operands = tuple[list[torch.Tensor], list[int | None]]  # with the keys of their memory


class ForwardNotes:
    """Describes forward operations; knows the view that each operand is, and which calls cut a graph."""

    def __init__(self, batch_at: Callable[[int], tuple[GivenBatch, Leaf] | None]) -> None:
        self._batch_at = batch_at
        self.used_parameters: set[int] = set()
        self.cuts: list[Operation] = []
        self._views: dict[Geometry, Operation] = {}
        self._viewed: set[int] = set()  # memory of any of these views
        self._others: dict[int, tuple[Any, Operation]] = {}

    def forget(self) -> None:
        """Release the notes of a step that is over."""
        for cut in self.cuts:
            cut.let_go()
        self.cuts.clear()
        self._views.clear()
        self._viewed.clear()
        self._others.clear()

    def tables(self) -> dict[str, Any]:
        """Return where views and other operands are noted, for the accelerator."""
        return {
            "views": self._views,
            "viewed": self._viewed,
            "others": self._others,
            "used": self.used_parameters,
            "view_of": self._view_of,
            "batch_at": self._batch_at,
        }

    def describe(self, operation: Operation, operands: Operands, args: Any) -> None:
        """Note what the graph of the step needs."""
        given, _ = operands
        base = operation.info.base
        if base in KEEPS_ARGUMENTS:
            operation.kept = _masks_in(operation, args)
        operation.data_operands = data_operands(given, self._batch_at)
        operation.chosen = chosen_rows(base, args)
        operation.input_shapes = [list(tensor.shape) for tensor in given]
        operation.scalars = [
            (str(position), value)
            for position, value in enumerate(args)
            if type(value) in PLAIN or not tensors_in((value,))
        ]
        self.trace_back(operation, operands)
        leaves: list[str] = []
        operation.leaves = leaves
        for tensor, source in zip(given, operation.inputs, strict=True):
            if _is_parameter(tensor):
                if not operation.info.writes:  # initialising a parameter is no use of it
                    self.used_parameters.add(id(tensor))
                leaves.append("parameter")
            elif source is None:
                leaves.append("input")
        is_sign = base in SIGNS and ("1", -1) in operation.scalars
        if base in LOSS_OPERATIONS or is_sign or _enters_a_loss(operation, given):
            operation.facts = [tensor_facts.facts_of(tensor) for tensor in given[:3]]
            if base == "_ctc_loss":
                operation.facts[1] = tensor_facts.facts_of(_labels_used(args))
            elif base in OF_LABELS:
                operation.facts[1] = tensor_facts.facts_of_labels(given[1])

    def trace_back(self, operation: Operation, operands: Operands) -> None:
        """Note of each operand whether autograd tracks it, which parameter it is, and which view."""
        given, keys = operands
        if self._others:
            operation.inputs = tuple(
                source or self._other(tensor, key)
                for source, tensor, key in zip(operation.inputs, given, keys, strict=True)
            )
        operation.grad_mode = torch.is_grad_enabled()
        operation.tracked = [tensor.requires_grad for tensor in given]
        operation.through = tuple(
            self._view_of(tensor) if key in self._viewed else None
            for tensor, key in zip(given, keys, strict=True)
        )
        operation.parameter_ids = [
            id(tensor) if _is_parameter(tensor) else _viewed_parameter(view)
            for tensor, view in zip(given, operation.through, strict=True)
        ]

    def wrote_other(self, operation: Operation, output: torch.Tensor) -> None:
        """Remember the operation that made a tensor of integers or booleans, which memory writers do not keep."""
        key = (
            storage_key(output)
            if operation.node is None and not output.is_floating_point()
            else None
        )
        if key is not None:
            self._others[key] = (weak_storage(output), operation)

    def maker_of(self, tensor: torch.Tensor) -> Operation | None:
        """Return the operation that made a tensor of integers or booleans."""
        return self._other(tensor, storage_key(tensor))

    def _other(self, tensor: torch.Tensor, key: int | None) -> Operation | None:
        known = self._others.get(key) if key is not None else None
        return known[1] if known is not None and not tensor.is_floating_point() else None

    def viewed(self, operation: Operation, outputs: list[torch.Tensor]) -> None:
        """Remember that an operation made these views."""
        follows = bool(operation.tracked and operation.tracked[0] and operation.grad_mode)
        for output in outputs:
            key = _geometry(output, follows=follows and operation.info.base not in CUTS)
            if key is not None:
                self._views[key] = operation
                self._viewed.add(key[0])

    def _view_of(self, tensor: torch.Tensor) -> Operation | None:
        key = _geometry(tensor, follows=bool(tensor.requires_grad))
        if key is None:
            return None
        if tensor.requires_grad and tensor.is_leaf and not _is_parameter(tensor):
            # Detached, and then made to require gradients.
            return self._views.get((*key[:4], False))
        view = self._views.get(key)
        if view is None and tensor.requires_grad:
            # A view of a parameter requires gradients even if it was made without recording a graph.
            view = self._views.get((*key[:4], False))
            view = None if view is not None and view.info.base in CUTS else view
        return view


def _enters_a_loss(operation: Operation, given: list[torch.Tensor]) -> bool:
    """Tell whether an operation may be a term of a loss that a program writes out, small enough to be measured."""
    base = operation.info.base
    if operation.node_number is None or any(tensor.numel() > MOST_MEASURED for tensor in given):
        return False
    if base in DIFFERENCES:
        return True
    # Weights of log-probabilities, as the soft targets of a cross entropy are.
    return base == "mul" and any(
        source is not None and source.info.base == "_log_softmax" for source in operation.inputs
    )


def _labels_used(args: Any) -> torch.Tensor:
    """Return the labels that a CTC loss reads: the padding behind each target may hold anything."""
    targets: torch.Tensor = args[1]
    if targets.dim() < 2:
        return targets
    return torch.cat([row[:length] for row, length in zip(targets, args[3], strict=False)])


def _is_parameter(tensor: torch.Tensor) -> bool:
    kind = type(tensor)  # first, because `isinstance` of a parameter runs Python code of torch
    return kind is torch.nn.Parameter or (
        kind is not torch.Tensor and isinstance(tensor, torch.nn.Parameter)
    )


def _viewed_parameter(view: Operation | None) -> int | None:
    return view.parameter_ids[0] if view is not None and view.parameter_ids else None


def _geometry(tensor: torch.Tensor, *, follows: bool) -> Geometry | None:
    """Return what distinguishes one view of a piece of memory from another."""
    if tensor.layout is not torch.strided:
        return None
    key = storage_key(tensor)
    if key is None:
        return None
    return key, int(tensor.storage_offset()), tuple(tensor.shape), tuple(tensor.stride()), follows


def _masks_in(operation: Operation, args: Any) -> tuple[Any, ...] | None:
    """Return the arguments that may hide values, for operations in the autograd graph; no activations."""
    if operation.node_number is None:
        return None
    if operation.info.base == "nan_to_num":
        return (torch.isfinite(args[0].detach()),) if _has_numbers(args[0]) else None
    return tuple(None if isinstance(a, torch.Tensor) and a.requires_grad else a for a in args)


def _has_numbers(tensor: torch.Tensor) -> bool:
    return (
        type(tensor) in (torch.Tensor, torch.nn.Parameter) and gradients.dense(tensor) is not None
    )
