"""`torchwhy run` with looks every fraction of a second: `python -m tests.follow.quick_looks run …`."""

from __future__ import annotations

import sys

from torchwhy.commands import main
from torchwhy.follow import follower, look_times, polite_end
from torchwhy.follow.look_times import LookTimes

FIRST, SHORTEST = 0.3, 0.2

if __name__ == "__main__":
    times = LookTimes(FIRST, SHORTEST)
    follower.LookTimes = lambda: times
    polite_end.FORWARDED_SECONDS = polite_end.PATIENCE_SECONDS = SHORTEST
    look_times.GROWTH, look_times.SHARE = 0.0, 0.5
    sys.exit(main(sys.argv[1:]))
