"""The manual pages of causes that only the supervisor sees: a program that stands still leaves nothing to scan."""

from __future__ import annotations

from pathlib import Path

PAGES = Path(__file__).with_name("pages")


def hang_pages() -> dict[str, Path]:
    """Return the pages by the names of their causes."""
    return {path.stem: path for path in sorted(PAGES.glob("*.md"))}
