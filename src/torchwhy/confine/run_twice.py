"""Starts a command, and after its end again, with another run directory: `run_twice.py VARIABLE PLACE COMMAND …`.

Both find the same files, so the second one finds what the first one wrote. Python starts this with `-I -S`, so it uses
the standard library alone and is not watched itself.
"""

from __future__ import annotations

import os
import subprocess
import sys


def main(words: list[str]) -> int:
    """Run the command twice; return the exit code of the first time."""
    variable, place, *command = words
    code = subprocess.call(command)
    subprocess.call(command, env={**os.environ, variable: place})
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
