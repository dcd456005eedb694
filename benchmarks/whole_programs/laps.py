"""The clock of the programs: `lap()` ends a step; the CPU seconds of all steps go to the file that LAPS names."""

from __future__ import annotations

import atexit
import json
import os
import time
from pathlib import Path

_times: list[float] = []


def lap() -> None:
    """Note the CPU time of this process; the first call begins the first step."""
    _times.append(time.process_time())


def _write() -> None:
    name = os.environ.get("LAPS")
    if name and _times:
        pairs = zip(_times, _times[1:], strict=False)
        Path(name).write_text(json.dumps([later - earlier for earlier, later in pairs]))


atexit.register(_write)
