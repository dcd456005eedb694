"""Links are written where the terminal has them, and nowhere else."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from torchwhy.report.text.hyperlinks import has_links, link_to


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    "environment",
    [
        {"TERM": "xterm-256color", "TERM_PROGRAM": "vscode"},
        {"TERM": "xterm-256color", "TERM_PROGRAM": "vscode", "SSH_CONNECTION": "a b"},
        {"TERM": "xterm-256color", "VTE_VERSION": "7200"},
        {"TERM": "xterm-kitty"},
        {"TERM": "xterm-256color", "FORCE_HYPERLINK": "1"},
    ],
)
def test_a_terminal_with_links_gets_them(environment):
    assert has_links(Terminal(), environment)
    assert not has_links(io.StringIO(), environment)
    assert not has_links(Terminal(), environment | {"NO_COLOR": "1"})
    assert not has_links(Terminal(), environment | {"TERM": "dumb"})


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"TERM": "xterm-256color"},
        {"TERM": "xterm-256color", "VTE_VERSION": "4600"},
        {"TERM": "xterm-256color", "VTE_VERSION": "?"},
        {"TERM": "tmux-256color", "TERM_PROGRAM": "tmux", "VTE_VERSION": "7200"},
        {"TERM": "xterm-kitty", "SSH_CONNECTION": "a b"},
        {"TERM": "xterm-kitty", "FORCE_HYPERLINK": "0"},
    ],
)
def test_a_terminal_that_is_not_known_to_have_links_gets_none(environment):
    assert not has_links(Terminal(), environment)


def test_the_line_is_in_the_address_where_the_terminal_reads_it():
    path = Path("/home/ada/my net.py")

    assert link_to(path, 7, {"TERM_PROGRAM": "vscode"}) == "vscode://file/home/ada/my%20net.py:7"
    assert link_to(path, 7, {"KITTY_WINDOW_ID": "1"}) == "file:///home/ada/my%20net.py#7"
    assert link_to(path, 7, {}) == link_to(path, None, {}) == "file:///home/ada/my%20net.py"


def test_a_name_cannot_end_the_link():
    assert "\x1b" not in link_to(Path("/a\x1b\\b\x07.py"), 1, {})
