"""Check the links between the Markdown files of this repository: the file exists, and so does the heading.

python -m tests.support.check_links
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
ANCHOR = re.compile(r'<a id="([^"]+)">')


def pages() -> list[Path]:
    """Return the files for readers."""
    return [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]


def broken_links(page: Path) -> Iterator[str]:
    """Yield what is wrong with the links of a page."""
    for target, heading in LINK.findall(FENCE.sub("", page.read_text(encoding="utf8"))):
        file = page if not target else (page.parent / target).resolve()
        if not file.exists():
            yield f"{page.relative_to(ROOT)}: there is no {target}"
        elif heading and heading not in _anchors(file):
            yield f"{page.relative_to(ROOT)}: {target or 'it'} has no heading #{heading}"


def _anchors(file: Path) -> set[str]:
    text = FENCE.sub("", file.read_text(encoding="utf8"))
    headings = {
        re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")
        for title in HEADING.findall(text)
    }
    return headings | set(ANCHOR.findall(text))


def main() -> int:
    """Print every broken link; return 1 if there is one."""
    broken = [problem for page in pages() for problem in broken_links(page)]
    print(*broken, sep="\n")  # noqa: T201
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
