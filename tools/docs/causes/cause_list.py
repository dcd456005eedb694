"""The list of all causes by symptom, and the words by which the reader's browser searches them."""

from __future__ import annotations

import html
import json
from pathlib import Path

from tools.docs.causes.cause_pages import own_causes
from tools.docs.causes.pinned_reports import messages_of
from tools.docs.places import DOCS, cause_page, link
from torchwhy.detect.hangs.hang_pages import hang_pages
from torchwhy.detect.manuals.page import Manual, parse
from torchwhy.detect.manuals.search import BEGINNING, NEEDED, TAIL, WEIGHTS, Entry, words_of
from torchwhy.detect.manuals.symptoms import TITLES

PAGE = "causes/index.md"
WORDS_FILE = "causes/words.js"
STANDSTILL = "The program stands still"
WEIGHT_OF_MESSAGE = 3.0  # Between a summary and what a page merely mentions.
EXAMPLES = (
    "nan after some steps",
    "loss does not fall",
    "mat1 and mat2 shapes cannot be multiplied",
    "Trying to backward through the graph a second time",
    "out of memory",
)


def gallery_page() -> str:
    """Return the written page, followed by a field to search and the list of all causes."""
    parts = [(DOCS / PAGE).read_text(encoding="utf8"), _search_field()]
    for title, rows in causes_by_symptom().items():
        parts += [f"## {title}\n", *map(_row, rows), ""]
    parts.append(
        '<script src="words.js"></script>\n<script src="../theme/search_causes.js"></script>\n'
    )
    return "\n".join(parts)


def _search_field() -> str:
    examples = " ".join(f'<button type="button">{html.escape(one)}</button>' for one in EXAMPLES)
    return f"""<div class="cause-search" role="search" hidden>
<label for="cause-query">What do you see? A symptom, or an error message of torch</label>
<input id="cause-query" type="search" autocomplete="off" spellcheck="false">
<p class="examples">For example: {examples}</p>
<p class="found" role="status"></p>
</div>
"""


def causes_by_symptom() -> dict[str, list[tuple[str, str]]]:
    """Return name and summary of each cause under its symptom."""
    groups: dict[str, list[tuple[str, str]]] = {title: [] for title in TITLES.values()}
    for name, (manual, symptom) in own_causes().items():
        groups[symptom].append((name, manual.summary))
    groups[STANDSTILL] = [(name, _hang_manual(path).summary) for name, path in hang_pages().items()]
    return {title: rows for title, rows in groups.items() if rows}


def _hang_manual(path: Path) -> Manual:
    return parse(path.read_text(encoding="utf8"))


def _row(row: tuple[str, str]) -> str:
    name, summary = row
    return f"- [`{name}`]({link(cause_page(name), from_page=PAGE)}): {summary}"


def words_script() -> str:
    """Return the words of each cause's page by field, and how `torchwhy explain` weighs them, as a script."""
    causes = {}
    for name, (manual, symptom) in own_causes().items():
        fields = Entry(manual, symptom).fields()
        causes[name] = {field: sorted(words) for field, words in fields.items() if field in WEIGHTS}
        causes[name]["message"] = sorted(words_of(" ".join(messages_of(name))))
    for name, path in hang_pages().items():
        fields = Entry(_hang_manual(path), STANDSTILL).fields()
        causes[name] = {field: sorted(words) for field, words in fields.items() if field in WEIGHTS}
    weights = {**WEIGHTS, "message": WEIGHT_OF_MESSAGE}
    data = {
        "weights": weights,
        "beginning": BEGINNING,
        "needed": NEEDED,
        "tail": TAIL,
        "causes": causes,
    }
    return f"window.torchwhyCauses = {json.dumps(data, separators=(',', ':'))};\n"
