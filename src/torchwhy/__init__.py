"""Explain why a PyTorch training run broke. Public names load on first use, which keeps start-up fast.

pytest, started by `torchwhy run`, would warn that torchwhy was imported too early for it: PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

TYPE_CHECKING = (
    False  # Type checkers know the name; importing `typing` would cost every child process 10 ms.
)
if TYPE_CHECKING:
    from typing import Any

    from torchwhy.finding import Finding as Finding
    from torchwhy.integrations.block import TrainingBroke as TrainingBroke
    from torchwhy.integrations.block import watch as watch
    from torchwhy.pipeline import load as load
    from torchwhy.report.model import Report as Report

__version__ = "0.1.0"
__all__ = ["Finding", "Report", "TrainingBroke", "__version__", "load", "watch"]

_HOMES = {
    "load": "torchwhy.pipeline",
    "Finding": "torchwhy.finding",
    "Report": "torchwhy.report.model",
    "TrainingBroke": "torchwhy.integrations.block",
    "watch": "torchwhy.integrations.block",
    "load_ipython_extension": "torchwhy.integrations.cell_magics",
    "unload_ipython_extension": "torchwhy.integrations.cell_magics",
}


def __getattr__(name: str) -> Any:
    """Return a public name, importing its module on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'torchwhy' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return list(__all__)
