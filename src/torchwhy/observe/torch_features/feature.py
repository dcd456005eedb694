"""One row of the table of private names. Needs no torch, as the whole table.

A name is spelled the way `resolve` looks it up:

    torch._C._current_autograd_node     an attribute, reached by imports and `getattr`
    torch.nn.Module()._parameters       an attribute that instances have: set by `__init__`, annotated, or a descriptor
    torch.autograd.f:t_outputs          a local variable of a function, read from its frame
    module torch._dynamo                a module, found and not imported
    C PyThreadState.c_traceobj          a name in the source of the accelerator: without it that is not built
"""

from __future__ import annotations

from torchwhy.plain_data import dataclass

OLDEST_TORCH = "torch 2.4"


@dataclass(frozen=True)
class Feature:
    """Some private names that are of use only together.

    `since` was read in the wheels of torch 2.4.0 to 2.12.0, one of each minor release (docs/reference/versions.md).
    """

    name: str
    names: tuple[str, ...]
    lost: str  # for the user, in one sentence
    used_by: tuple[str, ...]  # functions and classes, by their path in torchwhy
    since: str = ""  # the release that brought its last name; empty: the oldest that is supported has them all
    only_time: bool = False  # without it everything works, and takes longer
    of_recording: bool = True  # False: it is of no use inside a program

    @property
    def in_releases(self) -> str:
        """Return which releases of torch have it, in words; empty for a feature of Python alone."""
        if not any("torch" in name for name in self.names):
            return ""
        return f"since {self.since}" if self.since else f"in {OLDEST_TORCH} and newer"
