"""The numbers that options take: seconds, shares of the time, sizes of files."""

from __future__ import annotations

import argparse

SIZES = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
LARGEST_SIZE = 1e15


def positive(text: str) -> float:
    """Return a number of seconds from the command line."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number of seconds")
    return number


def seconds_or_never(text: str) -> float:
    """Return a number of seconds from the command line, 0 for never."""
    return 0.0 if text.strip() == "0" else positive(text)


def share(text: str) -> float:
    """Return a share from the command line: `1%` or `0.01`."""
    try:
        number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        number = 0.0
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share of the time, such as 1%")
    return number


def size_in_bytes(text: str) -> int:
    """Return a number of bytes from the command line: `2GB`, `500 MB`, `0`."""
    number = text.strip().upper().removesuffix("B").removesuffix("I")
    factor = SIZES.get(number[-1:], 1)
    try:
        size = float(number[:-1] if factor > 1 else number) * factor
    except ValueError:
        size = -1.0
    if not 0 <= size < LARGEST_SIZE:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size, such as 2GB")
    return int(size)
