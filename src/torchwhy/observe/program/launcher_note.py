"""Tells torchrun why a rank ended, in the file that it names for that, so that its summary shows the same cause.

torchrun blames the rank with the earliest time, in whole seconds. A rank that only lost another one, or got bad values
from it, rounds its time up and the others down, so that it never comes before the rank it lost.
"""

from __future__ import annotations

import json
import math
import os
import time
import traceback
from pathlib import Path
from types import TracebackType

from torchwhy.observe.torch_features.torch_internals import BACKWARD_ENTRY, RANKS_FOLDER, world_size

FILE = "TORCHELASTIC_ERROR_FILE"


def note_exception(error: BaseException) -> None:
    """Note the exception that ends this rank, unless the program itself has."""
    text = "".join(traceback.format_exception(error))
    message = f"{type(error).__name__}: {error}"
    note(message, text, follows=_comes_from_ranks(error.__traceback__))


def note(message: str, details: str, *, follows: bool) -> None:
    """Note why this rank ends; `follows`: another one is the reason."""
    path = os.environ.get(FILE)
    if not path or Path(path).exists():
        return
    now = time.time()
    when = math.ceil(now) if follows else math.floor(now)
    told = {"py_callstack": details, "timestamp": str(when)}
    data = {"message": {"message": message, "extraInfo": told}}
    Path(path).write_text(json.dumps(data), encoding="utf8")


def _comes_from_ranks(trace: TracebackType | None) -> bool:
    """Tell whether the code that talks to other ranks may have raised it, which in a backward pass has no frame."""
    code = None
    while trace is not None:
        code, trace = trace.tb_frame.f_code, trace.tb_next
    if code is None or world_size() == 1:
        return False
    return RANKS_FOLDER in code.co_filename or code.co_name == BACKWARD_ENTRY
