"""Colours for the reports in the site: a formatter of ```report``` blocks for pymdownx.superfences."""

from __future__ import annotations

import html
import re
from typing import Any

# The first pattern that matches a line colours it; a group named by a colour, or else the whole line.
LINES = (
    re.compile(r"^(?P<prompt>\$ )(?P<command>.*)$"),
    re.compile(r"^(?P<rule>torchwhy: .* ─+)$"),
    re.compile(r"^(?P<error>error\[[\w-]+\])(?P<head>:.*)$"),
    re.compile(r"^(?P<warning>warning\[[\w-]+\])(?P<head>:.*)$"),
    re.compile(r"^(?P<note>note\[[\w-]+\])(?P<head>:.*)$"),
    re.compile(r"^(?P<quiet> *-->)(?P<place> .*)$"),
    re.compile(r"^(?P<quiet> *│) *(?P<mark>\^+)$"),
    re.compile(r"^(?P<quiet> *│)(?P<label> .*[└├│].*)$"),
    re.compile(r"^(?P<quiet> *\d+ │)"),
    re.compile(r"^ +(?P<removed>-(?![->]).*)$"),
    re.compile(r"^ +(?P<added>\+(?!\+).*)$"),
    re.compile(r"^  (?P<key>fix|why|led to|also|next|go on)(?= )"),
    re.compile(r"^(?P<quiet>(?:next: |watched ).*)$"),
    re.compile(r"^ *(?P<error>✗)"),
    re.compile(r"^ *(?P<added>✓)"),
)


def accept(_language: str, inputs: dict[str, str], options: dict[str, Any], *_further: Any) -> bool:
    """Take the title of a block; nothing else can stand there."""
    options["title"] = inputs.get("title")
    return set(inputs) <= {"title"}


def render(
    source: str,
    _language: str,
    _css_class: str,
    options: dict[str, Any],
    *_further: Any,
    **_named: Any,
) -> str:
    """Return the HTML of a report; its title is a line above it."""
    title = options.get("title")
    head = f'<span class="filename">{html.escape(title)}</span>' if title else ""
    lines = "\n".join(map(coloured, source.split("\n")))
    return f'<div class="report highlight">{head}<pre tabindex="0"><code>{lines}</code></pre></div>'


def coloured(line: str) -> str:
    """Return the HTML of a line."""
    for pattern in LINES:
        found = pattern.match(line)
        if found is not None:
            return _spans(line, found)
    return html.escape(line)


def _spans(line: str, found: re.Match[str]) -> str:
    parts, done = [], 0
    for name, text in found.groupdict().items():
        start, end = found.span(name)
        parts += [
            html.escape(line[done:start]),
            f'<span class="r-{name}">{html.escape(text)}</span>',
        ]
        done = end
    return "".join([*parts, html.escape(line[done:])])
