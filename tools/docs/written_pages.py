"""The pages that people wrote: those of docs/, and files of the repository that they link to."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from tools.docs.markdown import fence, outside_fences
from tools.docs.places import DOCS, PROJECT_PAGES, ROOT, link

LINK = re.compile(r"(?P<before>\]\()(?!https?:|mailto:|#)(?P<target>[^)#\s]+)(?P<rest>#[^)\s]*)?\)")
LANGUAGES = {".py": "python", ".toml": "toml", ".md": "markdown"}
SVG = re.compile(r"^!\[(?P<title>[^\]]*)\]\((?P<path>[^)]+\.svg)\)$", re.MULTILINE)
TEMPLATE = "examples/plugin"


def written_pages() -> Iterator[tuple[str, str]]:
    """Yield the path in the site and the Markdown of each page."""
    for path in sorted(DOCS.rglob("*.md")):
        page = path.relative_to(DOCS).as_posix()
        yield page, adapted(path.read_text(encoding="utf8"), page=page, origin=f"docs/{page}")
    for origin, page in PROJECT_PAGES.items():
        if origin.endswith(".md") and not origin.startswith(TEMPLATE) and page != "index.md":
            text = (ROOT / origin).read_text(encoding="utf8")
            yield page, adapted(text, page=page, origin=origin)
    yield PROJECT_PAGES[TEMPLATE], _template_page()


def other_files() -> Iterator[tuple[str, Path]]:
    """Yield the files of docs/ that are not pages: pictures and the schema."""
    for path in sorted(DOCS.rglob("*")):
        if path.is_file() and path.suffix in {".png", ".svg", ".json"}:
            yield path.relative_to(DOCS).as_posix(), path


def adapted(text: str, *, page: str, origin: str) -> str:
    """Return a page as the site needs it: links to the site's pages, and pictures that follow its colours."""

    def change(part: str) -> str:
        return LINK.sub(lambda found: _moved(found, page=page, origin=origin), _drawn(part, origin))

    return outside_fences(text, change)


def _moved(found: re.Match[str], *, page: str, origin: str) -> str:
    target = posixpath.normpath(posixpath.join(posixpath.dirname(origin), found["target"]))
    if target in PROJECT_PAGES:
        target = PROJECT_PAGES[target]
    elif target.startswith("docs/"):
        target = target.removeprefix("docs/")
    else:
        return found[0]  # The build warns of it, which is an error.
    return f"{found['before']}{link(target, from_page=page)}{found['rest'] or ''})"


def _drawn(text: str, origin: str) -> str:
    """Return a text with its SVG pictures in it, so that they follow the colours of the site."""

    def drawing(found: re.Match[str]) -> str:
        path = ROOT / posixpath.normpath(posixpath.join(posixpath.dirname(origin), found["path"]))
        drawn = re.sub(r"\n\s*\n", "\n", path.read_text(encoding="utf8").strip())
        return f'<div class="picture">\n{drawn}\n</div>'

    return SVG.sub(drawing, text)


def _template_page() -> str:
    """Return the files of the plugin template as one page."""
    folder = ROOT / TEMPLATE
    page = PROJECT_PAGES[TEMPLATE]
    readme = (folder / "README.md").read_text(encoding="utf8")
    parts = [adapted(readme, page=page, origin=f"{TEMPLATE}/README.md")]
    for path in sorted(folder.rglob("*")):
        language = LANGUAGES.get(path.suffix)
        shown = path.relative_to(folder).as_posix()
        text = path.read_text(encoding="utf8") if language and path.is_file() else ""
        if text.strip() and shown != "README.md" and "egg-info" not in shown:
            parts.append(fence(text, f'{language} title="{shown}"'))
    return "\n".join(parts)
