"""The largest eigenvalue of a symmetric operator from a handful of products with it."""

from __future__ import annotations

from collections.abc import Callable

import torch

SETTLED = 0.01  # relative change of the largest eigenvalue below which the search ends


def largest_eigenvalue(
    product: Callable[[torch.Tensor], torch.Tensor],
    start: torch.Tensor,
    *,
    most_products: int,
    is_enough: Callable[[float, float], bool] = lambda before, value: False,  # noqa: ARG005
) -> tuple[float, int]:
    """Return the largest eigenvalue and how many products it took; `start` is any vector not orthogonal to its own.

    `is_enough` is asked with the eigenvalue as known before and after a product whether to leave it at that.
    """
    basis = [start / start.norm()]
    diagonal: list[float] = []
    beside: list[float] = []
    value = float("nan")
    for count in range(1, most_products + 1):
        image = product(basis[-1])
        diagonal.append(float(torch.dot(image, basis[-1]).item()))
        before, value = value, _top(diagonal, beside)
        # Twice, because rounding in the first pass brings back a part of what it removed.
        for _ in range(2):
            for vector in basis:
                image = image - torch.dot(image, vector) * vector
        rest = float(image.norm().item())
        settled = abs(value - before) <= SETTLED * abs(value) and count > 3
        settled = settled or (count > 1 and is_enough(before, value))
        if settled or rest <= 1e-6 * max(abs(value), 1e-30) or rest == 0.0:
            return value, count
        beside.append(rest)
        basis.append(image / rest)
    return value, most_products


def _top(diagonal: list[float], beside: list[float]) -> float:
    matrix = torch.diag(torch.tensor(diagonal, dtype=torch.float64))
    if len(diagonal) > 1:
        side = torch.tensor(beside[: len(diagonal) - 1], dtype=torch.float64)
        matrix = matrix + torch.diag(side, 1) + torch.diag(side, -1)
    return float(torch.linalg.eigvalsh(matrix)[-1].item())
