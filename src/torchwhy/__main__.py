"""The command `torchwhy`."""

from __future__ import annotations

import gc
import sys

# msgspec asks for this package and does without if there is none; it takes a third of msgspec's import.
_is_absent = "typing_extensions" not in sys.modules
if _is_absent:
    sys.modules["typing_extensions"] = None  # type: ignore[assignment]
import msgspec  # noqa: E402, F401

if _is_absent:
    del sys.modules["typing_extensions"]

from torchwhy import commands  # noqa: E402
from torchwhy.observe.ending_signals import end_by, ending  # noqa: E402


def main() -> int:
    """Run the command line; exit as the program did, if a signal ended it."""
    gc.set_threshold(50_000, 20, 20)  # of four hundred imported modules, nothing is garbage
    code = commands.main()
    if ending.exit_by is not None:
        end_by(ending.exit_by)
    gc.freeze()  # Nor is anything at the end, which searches through all of it three times.
    return code


if __name__ == "__main__":
    sys.exit(main())
