"""Checks whether all gradients are finite: a finite sum proves it, a non-finite sum is checked exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from torchwhy.observe.native.records import ReadingRecord, fast
from torchwhy.observe.torch_features.mode_stack import DisableTorchFunction, unseen
from torchwhy.observe.torch_features.tensor_parts import (
    check_together,
    has_values,
    item,
    local_part,
    values_of_sparse,
)

HALF = (torch.float16, torch.bfloat16)
SMALL = 2**15  # elements up to which reading and writing a gradient costs less than a call for it
SUMMABLE = (*HALF, torch.float32, torch.float64, torch.complex64, torch.complex128)


def dense(tensor: torch.Tensor) -> torch.Tensor | None:
    """Return the plain tensor with the values: those of a sparse one, the local part of a sharded one."""
    if not has_values(tensor):
        return None
    if tensor.is_sparse:
        return values_of_sparse(tensor)
    tensor = local_part(tensor)
    if tensor.layout is not torch.strided or tensor.dtype not in SUMMABLE:
        return None
    return tensor


@unseen
def sums_of(tensors: Iterable[torch.Tensor | None]) -> list[torch.Tensor]:
    """Return the sum of each tensor as a 0-dim tensor on its own device, in a dtype that half cannot overflow."""
    sums = []
    for tensor in tensors:
        plain = None if tensor is None else dense(tensor)
        if plain is not None:
            sums.append(plain.sum(dtype=torch.float32) if plain.dtype in HALF else plain.sum())
    return sums


def quickly_finite(tensors: Sequence[torch.Tensor | None]) -> bool:
    """Tell whether plain gradients on the CPU are finite; False also means "unknown".

    It computes nothing but the sum; a tensor without one, or with a non-finite one, is checked the slow way.
    """
    try:
        for tensor in tensors:
            if tensor is None or (
                fast is not None and tensor.numel() <= SMALL and fast.surely_finite(tensor)
            ):
                continue
            if not math.isfinite(tensor.sum().item()):
                return False
    except (RuntimeError, TypeError, NotImplementedError, OverflowError):
        return False
    return True


class Reading(ReadingRecord):
    """Reads the gradients of some plain parameters at every step, the small ones in one call; keeps none of them.

    A GradScaler finds infinities by the same call while it multiplies; with a factor of one it changes no bit and no
    version, and reads each value once. A large gradient is summed, which takes half of the memory traffic.
    """

    def __init__(self, parameters: Sequence[torch.Tensor]) -> None:
        parameters = [local_part(parameter) for parameter in parameters]
        self.is_possible = bool(parameters) and all(map(_is_plain, parameters))
        small = [p for p in parameters if p.numel() <= SMALL]
        together = _can_check_together and len({(p.dtype, p.device) for p in small}) == 1
        # Of each parameter, by its position.
        self._are_small = bytes(together and p.numel() <= SMALL for p in parameters)
        self._adds_up = all(p.is_cpu and p.dtype not in HALF for p in parameters)
        if together:
            self._found = torch.zeros(1, device=small[0].device)
            self._one = torch.ones(1, device=small[0].device)

    def total(self, optimizer: Any) -> float:
        """Return a number that is finite only if every gradient is. A sparse one makes it raise."""
        with DisableTorchFunction():
            if not self._adds_up:
                return math.fsum(read_together(self.answers(optimizer)))
            small, others = self._gradients(optimizer)
            if small:
                check_together(small, self._found, self._one)
            total = sum((item(gradient.sum()) for gradient in others), 0.0)
            if small and item(self._found):
                self._found.zero_()
                return math.nan
            return total

    def answers(self, optimizer: Any) -> list[torch.Tensor]:
        """Return tensors of one number each, still on their device, that are finite only if every gradient is."""
        with DisableTorchFunction():
            small, others = self._gradients(optimizer)
            answers = [gradient.sum(dtype=torch.float32) for gradient in others]
            if small:
                check_together(small, self._found, self._one)
                # The answer is 1 or 0, and is reset for the next call.
                answers.append(torch.where(self._found > 0, math.nan, self._found))
                self._found.zero_()
            return answers

    def rest(self, optimizer: Any) -> float:
        """Return the sum of the gradients that the accelerator in C leaves: large ones, and those of a device."""
        others = self._gradients(optimizer)[1]
        if self._adds_up:
            return sum((item(gradient.sum()) for gradient in others), 0.0)
        return math.fsum(read_together([g.sum(dtype=torch.float32) for g in others]))

    def _gradients(self, optimizer: Any) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Return the gradients that there are: the small ones, and the others."""
        small: list[torch.Tensor] = []
        others: list[torch.Tensor] = []
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        for parameter, is_small in zip(parameters, self._are_small, strict=True):
            gradient = parameter.grad
            if gradient is not None:
                part = gradient if type(gradient) is torch.Tensor else local_part(gradient)
                (small if is_small else others).append(part)
        return small, others


_can_check_together = check_together is not None


def read_together(numbers: Sequence[torch.Tensor | float]) -> list[float]:
    """Return plain numbers for tensors of one number each, gathered on their device and read back once for each."""
    values = [0.0 if isinstance(number, torch.Tensor) else float(number) for number in numbers]
    by_device: dict[torch.device, list[tuple[int, torch.Tensor]]] = {}
    for place, number in enumerate(numbers):
        if isinstance(number, torch.Tensor):
            by_device.setdefault(number.device, []).append((place, number.detach().reshape(())))
    with DisableTorchFunction():
        for placed in by_device.values():
            if len(placed) == 1:
                found = [float(item(tensor)) for _, tensor in placed]
            else:
                is_double = any(tensor.dtype is torch.float64 for _, tensor in placed)
                kind = torch.float64 if is_double else torch.float32
                found = torch.stack([tensor.to(kind) for _, tensor in placed]).tolist()
            for (place, _), value in zip(placed, found, strict=True):
                values[place] = value
    return values


def _is_plain(parameter: torch.Tensor) -> bool:
    return (
        type(parameter) in (torch.Tensor, torch.nn.Parameter)
        and parameter.is_leaf
        and parameter.layout is torch.strided
        and parameter.dtype in (*HALF, torch.float32, torch.float64)
        and has_values(parameter)
    )


@unseen
def all_finite(sums: Sequence[torch.Tensor]) -> bool:
    """Tell whether all sums are finite, with one read-back for a device that is not the CPU."""
    if not sums:
        return True
    if sums[0].device.type == "cpu":
        return all(_finite_number(value.item()) for value in sums)
    return bool(torch.isfinite(torch.stack([value.float() for value in sums])).all().item())


def is_finite(tensor: torch.Tensor) -> bool:
    """Tell exactly whether every element is finite."""
    if fast is not None and fast.surely_finite(tensor):
        return True
    return _is_finite(tensor)


@unseen
def _is_finite(tensor: torch.Tensor) -> bool:
    """Tell the same by torch, reading twice only if the sum is not finite."""
    plain = dense(tensor.detach())
    if plain is None or plain.numel() == 0:
        return True
    if all_finite(sums_of([plain])):
        return True
    return bool(torch.isfinite(plain).all().item())


@unseen
def fingerprint(tensors: Iterable[torch.Tensor | None]) -> list[str]:
    """Return what two equal computations share: every sum bit for bit, NaN included, and where it is bad."""
    prints = []
    for tensor in tensors:
        plain = None if tensor is None else dense(tensor.detach())
        if plain is None:
            prints.append("-")
            continue
        good = torch.isfinite(plain)
        total = torch.where(good, plain, torch.zeros_like(plain)).sum().item()
        prints.append(f"{total!r}/{int(good.sum().item())}")
    return prints


def _finite_number(value: Any) -> bool:
    if isinstance(value, complex):
        return math.isfinite(value.real) and math.isfinite(value.imag)
    return math.isfinite(value)
