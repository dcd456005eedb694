"""The command `torchwhy`."""

from __future__ import annotations

import gc
import sys

from torchwhy import commands
from torchwhy.observe.ending_signals import end_by, ending


def main() -> int:
    """Run the command line; exit as the program did, if a signal ended it."""
    code = commands.main()
    if ending.exit_by is not None:
        end_by(ending.exit_by)
    return code


if __name__ == "__main__":
    gc.set_threshold(50_000, 20, 20)  # of three hundred imported modules, nothing is garbage
    sys.exit(main())
