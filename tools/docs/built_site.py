"""Check a built site: every link leads to a file and an anchor in it, and nothing is loaded from elsewhere.

python -m tools.docs.built_site build/site
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

LOADING = {
    ("script", "src"),
    ("img", "src"),
    ("link", "href"),
    ("iframe", "src"),
    ("source", "src"),
}
FOREIGN = ("http", "https", "mailto", "data", "javascript")
NOT_LOADED = ("canonical", "prev", "next")  # `rel` of a <link> that the browser does not fetch


@dataclass
class Page(HTMLParser):
    """The links, the loaded files and the anchors of a page."""

    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag links to, loads or names."""
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        for name, value in values.items():
            if (tag, name) in LOADING and values.get("rel") not in NOT_LOADED:
                self.loaded.append(value)
            elif (tag, name) == ("a", "href"):
                self.links.append(value)


@cache
def read_page(path: Path) -> Page:
    """Return a page of the site."""
    page = Page()
    page.feed(path.read_text(encoding="utf8"))
    return page


def problems_of(site: Path) -> Iterator[str]:
    """Yield what is wrong with the links of a site."""
    for path in sorted(site.rglob("*.html")):
        page, name = read_page(path), path.relative_to(site)
        yield from (
            f"{name} loads {one}" for one in page.loaded if urlsplit(one).scheme in FOREIGN[:2]
        )
        for address in [*page.links, *page.loaded]:
            if urlsplit(address).scheme not in FOREIGN and path.name != "404.html":
                problem = _problem(address, path)
                if problem:
                    yield f"{name}: {problem}"


def _problem(address: str, path: Path) -> str:
    target, anchor = urldefrag(address)
    file = path if not target else (path.parent / unquote(urlsplit(target).path)).resolve()
    if file.is_dir():
        file /= "index.html"
    if not file.exists():
        return f"there is no {address}"
    if anchor and file.suffix == ".html" and unquote(anchor) not in read_page(file).anchors:
        return f"there is no anchor {address}"
    return ""


def main() -> int:
    """Print what is wrong; return 1 if anything is."""
    (site,) = map(Path, sys.argv[1:])
    problems = list(problems_of(site))
    count = len(list(site.rglob("*.html")))
    print(*problems, f"{count} pages, {len(problems)} broken links", sep="\n")
    return int(bool(problems) or not count)


if __name__ == "__main__":
    sys.exit(main())
