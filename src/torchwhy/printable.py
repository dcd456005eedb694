"""Text that is safe to show: what a program or a recorded run says must not steer the terminal."""

from __future__ import annotations

import re

# C0 without tab and newline, DEL, C1; the marks, embeddings, overrides and isolates that reorder text; the separators
# that some terminals break lines at; halves of surrogate pairs, which no terminal's encoding has.
_CONTROL = r"\x00-\x08\x0b-\x1f\x7f-\x9f"
_BIDI = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_UNSAFE = re.compile(rf"[{_CONTROL}{_BIDI}\u2028\u2029]")
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_UNSAFE_IN_JSON = re.compile(rf"[\x7f-\x9f{_BIDI}\u2028\u2029\ud800-\udfff]")


def printable(text: str) -> str:
    """Return the text without control and bidirectional characters; tabs and newlines stay."""
    return _HALF_PAIR.sub("?", _UNSAFE.sub("", text))


def one_line(text: str) -> str:
    """Return the text as a single printable line."""
    return " ".join(printable(text).split())


def escaped_json(text: str) -> str:
    r"""Return JSON in which such characters are written as `\u001b`."""
    return _UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
