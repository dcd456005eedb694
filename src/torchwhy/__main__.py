"""The command `torchwhy`."""

from __future__ import annotations

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
    sys.exit(main())
