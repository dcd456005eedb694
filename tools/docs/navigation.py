"""The order of the pages. A page that is not named here stands at the end of its folder's section."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tools.docs.causes.cause_list import PAGE as GALLERY
from tools.docs.causes.cause_list import causes_by_symptom
from tools.docs.places import cause_page

# Title of the section, its pages in order, and the folder whose further pages belong to it.
SECTIONS: tuple[tuple[str, Sequence[str], str | None], ...] = (
    ("Start", ["index.md"], None),
    (
        "Tutorials",
        [
            "tutorials/nan.md",
            "tutorials/crash.md",
            "tutorials/no-learning.md",
            "tutorials/memory.md",
        ],
        "tutorials/",
    ),
    (
        "Guides",
        ["guides/notebooks.md", "guides/ranks.md", "guides/ci.md", "guides/agents.md"],
        "guides/",
    ),
    ("Causes", [GALLERY], None),
    (
        "Reference",
        [
            "reference/commands.md",
            "reference/allow.md",
            "reference/live.md",
            "reference/kept-step.md",
            "reference/page.md",
            "reference/formats.md",
            "reference/report-json.md",
            "reference/python.md",
            "reference/python-api.md",
            "reference/notebooks.md",
            "reference/pytest.md",
            "reference/lightning.md",
            "reference/huggingface.md",
            "reference/ignite.md",
            "reference/mcp.md",
            "reference/plugins.md",
            "reference/versions.md",
            "errors.md",
        ],
        "reference/",
    ),
    (
        "Explanation",
        [
            "how-it-works.md",
            "explanation/limits.md",
            "explanation/comparison.md",
            "explanation/cost.md",
            "explanation/check.md",
            "explanation/ranks.md",
            "explanation/devices.md",
            "explanation/how-we-test.md",
            "glossary.md",
        ],
        "explanation/",
    ),
    (
        "Project",
        ["project/changes.md", "project/contributing.md", "project/security.md"],
        "project/",
    ),
)
HEADING = re.compile(r"^# +(.+)$", re.MULTILINE)


def navigation(pages: Mapping[str, str]) -> list[Any]:
    """Return the navigation of the pages that are there."""
    named = {page for _, order, _ in SECTIONS for page in order}
    sections: list[Any] = []
    for title, order, folder in SECTIONS:
        rest = [
            one for one in sorted(pages) if folder and one.startswith(folder) and one not in named
        ]
        present = [page for page in [*order, *rest] if page in pages]
        if present == [GALLERY]:
            sections.append({title: [{"All causes": GALLERY}, *_causes()]})
        elif len(present) == 1 and folder is None:
            sections.append({title: present[0]})
        elif present:
            sections.append({title: [{_title(pages[page]): page} for page in present]})
    return sections


def _causes() -> list[Any]:
    return [
        {symptom: [{name: cause_page(name)} for name, _ in rows]}
        for symptom, rows in causes_by_symptom().items()
    ]


def _title(text: str) -> str:
    heading = HEADING.search(text)
    return "" if heading is None else heading[1].replace("`", "")
