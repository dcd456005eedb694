"""A small PNG writer, so that an image of the data can stand in the page."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence

Pixel = tuple[int, int, int]


def png(rows: Sequence[Sequence[Pixel]]) -> bytes:
    """Return a PNG of rows of (red, green, blue) bytes."""
    height, width = len(rows), len(rows[0])
    raw = b"".join(b"\0" + bytes(part for pixel in row for part in pixel) for row in rows)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"IDAT", zlib.compress(raw, 9))
        + _chunk(b"IEND", b"")
    )


def data_address(rows: Sequence[Sequence[Pixel]]) -> str:
    """Return the PNG as an address that needs no file."""
    return "data:image/png;base64," + base64.b64encode(png(rows)).decode()


def _chunk(kind: bytes, content: bytes) -> bytes:
    check = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)
