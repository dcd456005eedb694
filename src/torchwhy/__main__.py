"""The command `torchwhy`."""

from __future__ import annotations

import sys

from torchwhy.commands import main

if __name__ == "__main__":
    sys.exit(main())
