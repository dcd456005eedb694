"""Make every name of a cause a link to its page."""

from __future__ import annotations

import re
from collections.abc import Collection

from tools.docs.markdown import outside_fences
from tools.docs.places import cause_page, link

CODE = re.compile(r"(?<![\[`])`([a-z0-9]+(?:-[a-z0-9]+)+|hang)`(?![`\]])")


def link_causes(text: str, *, page: str, causes: Collection[str]) -> str:
    """Return a page in which `name-of-a-cause` links to that cause, except in code, headings and its own page."""

    def linked(found: re.Match[str]) -> str:
        name = found[1]
        if name not in causes or cause_page(name) == page:
            return found[0]
        return f"[{found[0]}]({link(cause_page(name), from_page=page)})"

    def change(part: str) -> str:
        lines = part.split("\n")
        return "\n".join(one if one.startswith("#") else CODE.sub(linked, one) for one in lines)

    return outside_fences(text, change)
