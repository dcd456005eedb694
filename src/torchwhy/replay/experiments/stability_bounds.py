"""How each optimizer scales a gradient, and up to which product of rate and curvature its updates are stable.

On a quadratic with curvature λ, an update is stable for lr · λ below the bound: 2 for gradient descent,
2 (1 + β) with heavy-ball momentum, 2 (1 + β) / (1 + 2 β) with Nesterov's. An adaptive method is gradient descent
in coordinates scaled by its preconditioner; with a running mean of gradients as Adam's the bound is
(2 + 2 β1) / (1 − β1) (Cohen et al. 2022, "Adaptive gradient methods at the edge of stability").
"""

from __future__ import annotations

from typing import Any

import torch

ADAM = ("Adam", "AdamW", "NAdam", "RAdam")
KNOWN = ("SGD", *ADAM, "RMSprop", "Adagrad")


def bound_of(kind: str, group: dict[str, Any]) -> float | None:
    """Return the bound on lr · λ for an optimizer's first group; None for an unknown one, or momentum ≥ 1."""
    if kind not in KNOWN:
        return None
    if kind in ADAM:
        beta = float(group["betas"][0])
        return (2 + 2 * beta) / (1 - beta) if beta < 1 else None
    beta = float(group.get("momentum", 0.0) or 0.0)
    if beta >= 1:
        return None
    if group.get("nesterov"):
        return 2 * (1 + beta) / (1 + 2 * beta)
    # With dampening the velocity is a mean of gradients, scaled down by (1 - dampening).
    return 2 * (1 + beta) / (1 - float(group.get("dampening", 0.0)))


def preconditioner(
    kind: str, group: dict[str, Any], state: dict[str, Any], parameter: torch.Tensor
) -> torch.Tensor:
    """Return the divisor of each element of the gradient, before the rate multiplies it."""
    ones = torch.ones_like(parameter)
    if kind in ADAM:
        square = state.get("max_exp_avg_sq", state.get("exp_avg_sq"))
        if square is None:
            return ones
        done = float(state.get("step", 1))
        correction = 1 - float(group["betas"][1]) ** max(done, 1.0)
        return torch.as_tensor(square / correction).sqrt() + float(group["eps"])
    if kind == "RMSprop" and "square_avg" in state:
        return torch.as_tensor(state["square_avg"]).sqrt() + float(group["eps"])
    if kind == "Adagrad" and "sum" in state:
        return torch.as_tensor(state["sum"]).sqrt() + float(group["eps"])
    return ones
