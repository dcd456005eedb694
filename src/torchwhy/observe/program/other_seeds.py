"""In a run with another seed: adds a number to every seed that the program sets, and to those it starts with.

The program keeps its own calls, so one that says `torch.manual_seed(0)` gets other numbers, too.
"""

from __future__ import annotations

import functools
import random
import sys
from collections.abc import Callable
from typing import Any

import torch

SEEDING = ("manual_seed", "manual_seed_all", "seed", "default_rng")
LARGEST = 2**32  # numpy takes no larger seed

Replace = Callable[[Any, str, Any], object]


def change_seeds(add: int, replace: Replace) -> None:
    """Seed all generators anew, and have every later seed of the program come out higher by `add`."""
    numpy: Any = getattr(sys.modules.get("numpy"), "random", None)
    torch.manual_seed(add)
    random.seed(add)
    if numpy is not None:
        numpy.seed(add)
    for module in (torch, torch.random, torch.cuda, random, numpy):
        for name in SEEDING:
            seed = getattr(module, name, None)
            if seed is not None and not (
                module in (torch, torch.random, torch.cuda) and name == "seed"
            ):
                replace(module, name, _shifted(seed, add))
    replace(torch, "Generator", _shifting_generator(add))


def _shifted(seed: Callable[..., Any], add: int) -> Callable[..., Any]:
    @functools.wraps(seed)
    def set_seed(*args: Any, **kwargs: Any) -> Any:
        given = [_other(value, add) for value in args]
        return seed(*given, **{name: _other(value, add) for name, value in kwargs.items()})

    return set_seed


def _other(value: Any, add: int) -> Any:
    """Return another seed; what is no whole number (None, a sequence) stays."""
    return (
        (value + add) % LARGEST if isinstance(value, int) and not isinstance(value, bool) else value
    )


def _shifting_generator(add: int) -> type[torch.Generator]:
    class Generator(torch.Generator):
        """Torch's generator; other seeds."""

        def manual_seed(self, seed: int) -> Any:
            """Set the seed, higher by the number of this run."""
            return super().manual_seed(_other(seed, add))

    return Generator
