"""Where things lie: in the repository, and in the site."""

from __future__ import annotations

import posixpath
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
THEME = Path(__file__).parent / "theme"
CAUSES = "causes"

# Files outside docs/ that pages link to, and their pages in the site.
PROJECT_PAGES = {
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changes.md",
    "SECURITY.md": "project/security.md",
    "README.md": "index.md",
    "examples/plugin": "project/plugin-template.md",
    "examples/plugin/README.md": "project/plugin-template.md",
    "tests/programs/README.md": "project/programs.md",
}


def cause_page(name: str) -> str:
    """Return the page of a cause."""
    return f"{CAUSES}/{name}.md"


def link(target: str, *, from_page: str) -> str:
    """Return the relative address of a page, seen from another one."""
    return posixpath.relpath(target, posixpath.dirname(from_page) or ".")
