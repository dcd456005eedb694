"""Finds where an operation was called from, in one walk up the stack: the user's frames, and the part of torch."""

from __future__ import annotations

import os
from functools import lru_cache
from types import FrameType
from typing import Literal, NamedTuple

from torchwhy.observe.native.records import fast
from torchwhy.observe.program.frames import HANDS_ON, Site
from torchwhy.observe.torch_features.autograd_nodes import backward_entry_code
from torchwhy.observe.torch_features.torch_internals import PRINTING_FILE, RANKS_FOLDER
from torchwhy.source.files import is_own, layer_of

Part = Literal["user", "library", "torch", "optim", "clip", "data", "show", "init", "ranks", "own"]

MOST_SITES = (
    4  # user frames kept: the innermost one locates the operation, the others show the way to it
)
MOST_FRAMES = 200  # of a deep recursion, the rest is ignored

_PARTS: tuple[tuple[str, Part], ...] = (
    (f"torch{os.sep}optim{os.sep}", "optim"),
    (f"torch{os.sep}nn{os.sep}utils{os.sep}clip_grad.py", "clip"),
    (f"torch{os.sep}utils{os.sep}data{os.sep}", "data"),
    (PRINTING_FILE, "show"),
    (f"torch{os.sep}nn{os.sep}init.py", "init"),
    (RANKS_FOLDER, "ranks"),
)
# Code with formulas of its own that comes with torch.
LIBRARY_OF_TORCH = f"torch{os.sep}distributions{os.sep}"
_backward_entry = backward_entry_code()


class CallSite(NamedTuple):
    """`sites`: the user's frames inside backward, or all of them in forward; `outer`: those that called backward.

    `issuer` is whose code the innermost frame runs: the code that issues the operation. If that is not the user's,
    `within` holds the innermost frame, and behind it the innermost one of a library, if there is another.
    """

    sites: tuple[Site, ...]
    outer: tuple[Site, ...]
    part: Part
    issuer: Part
    within: tuple[Site, ...] = ()


@lru_cache(maxsize=4096)
def part_of(filename: str) -> Part:
    """Return the part of torch that a file belongs to, or whose code it is; `own` is ours."""
    if is_own(filename):
        return "own"
    layer = layer_of(filename)
    if layer != "torch":
        return layer
    if LIBRARY_OF_TORCH in filename:
        return "library"
    for fragment, part in _PARTS:
        if fragment in filename:
            return part
    return "torch"


def call_site(frame: FrameType | None) -> CallSite:
    """Return the call site of the operation that `frame` runs."""
    if fast is not None and frame is not None:
        return CallSite(*fast.walked(frame))
    return walk_in_python(frame)


def walk_in_python(frame: FrameType | None) -> CallSite:
    """Do what the accelerator does, if it was not built."""
    inner: list[Site] = []
    library: list[Site] = []
    outer: list[Site] | None = None
    part: Part = "torch"
    issuer: Part | None = None
    within: list[Site] = []
    for _ in range(MOST_FRAMES):
        if frame is None:
            break
        code = frame.f_code
        if code is _backward_entry and outer is None:
            outer = []
        here = part_of(code.co_filename)
        if here == "own" or code.co_name in HANDS_ON:
            frame = frame.f_back
            continue
        is_issuing, issuer = issuer is None, issuer or here
        is_first_library = here == "library" and not library
        if here != "user" and outer is None and not inner and (is_issuing or is_first_library):
            within.append(Site(code, frame.f_lasti))
        if here == "user":
            (inner if outer is None else outer).append(Site(code, frame.f_lasti))
            if len(inner if outer is None else outer) >= MOST_SITES:
                break
        elif here == "library" and not library and outer is None:
            library.append(Site(code, frame.f_lasti))
        elif not inner and part == "torch" and here not in ("torch", "library") and outer is None:
            part = here
        elif here == "data":
            part = "data"
        frame = frame.f_back
    if outer is None and not inner:
        inner = library
    return CallSite(tuple(inner), tuple(outer or ()), part, issuer or "torch", tuple(within))


if fast is not None:
    fast.begin_walks(Site, part_of, _backward_entry, MOST_SITES, MOST_FRAMES)
