"""One row of the table of private names. Needs no torch, as the whole table.

A name is spelled the way `resolve` looks it up:

    torch._C._current_autograd_node     an attribute, reached by imports and `getattr`
    torch.nn.Module()._parameters       an attribute that instances have: set by `__init__`, annotated, or a descriptor
    torch.autograd.f:t_outputs          a local variable of a function, read from its frame
    module torch._dynamo                a module, found and not imported
    C PyThreadState.c_traceobj          a name in the source of the accelerator: without it that is not built
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Feature:
    """Some private names that are of use only together."""

    name: str
    names: tuple[str, ...]
    lost: str  # for the user, in one sentence
    used_by: tuple[str, ...]  # functions and classes, by their path in torchwhy
    since: str = ""
    only_time: bool = False  # without it everything works, and takes longer
    of_recording: bool = True  # False: it is of no use inside a program
