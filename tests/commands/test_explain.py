"""`torchwhy explain`: a page, a search, the list; on a terminal and into a file."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from torchwhy.commands import main
from torchwhy.detect.manuals.symptoms import TITLES
from torchwhy.detect.registry import all_detectors

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
SOURCE = Path(__file__).resolve().parents[2] / "src"


def explain_on_a_terminal(*words: str, columns: int = 80, rows: int = 1000, **environment: str):
    """Return what appears on a terminal of this size, escapes included."""
    outside, inside = pty.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    clean = {key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ}
    child = subprocess.Popen(
        [sys.executable, "-m", "torchwhy", "explain", *words],
        stdin=inside,
        stdout=inside,
        env={
            "PYTHONPATH": str(SOURCE),
            "TERM": "xterm-256color",
            "PYTHONUTF8": "1",
            **clean,
            **environment,
        },
    )
    os.close(inside)
    shown = b""
    while True:
        try:
            piece = os.read(outside, 65536)
        except OSError:  # the other end is closed
            break
        shown += piece
    os.close(outside)
    assert child.wait() == 0
    return shown.decode().replace("\r\n", "\n")


def names_listed(text: str) -> list[str]:
    """Return the causes of a list in its order."""
    return re.findall(r"^([a-z-]+)  ", text, flags=re.MULTILINE)


def test_a_page_in_a_file_is_the_markdown_as_it_is(capsys):
    assert main(["explain", "log-of-nonpositive"]) == 0

    assert capsys.readouterr().out == all_detectors()["log-of-nonpositive"].manual().text


@pytest.mark.parametrize(
    "words", [["Log_Of_Nonpositive"], ["LOG-OF-NONPOSITIVE"], ["log", "of", "nonpositive"]]
)
def test_capitals_underscores_and_spaces_in_a_name_do_not_matter(capsys, words):
    assert main(["explain", *words]) == 0

    assert capsys.readouterr().out.startswith("# log-of-nonpositive\n")


@pytest.mark.parametrize("name", ["hang", "collective-mismatch", "uneven-batches"])
def test_causes_that_only_the_supervisor_sees_have_their_pages(capsys, name):
    assert main(["explain", name]) == 0

    assert capsys.readouterr().out.startswith(f"# {name}\n")


def test_the_list_has_every_cause_once_under_the_title_of_its_group(capsys):
    assert main(["explain"]) == 0
    shown = capsys.readouterr().out

    titles = re.findall(r"^## (.+)$", shown, flags=re.MULTILINE)
    assert sorted(names_listed(shown)) == sorted(all_detectors())
    assert titles == [title for symptom, title in TITLES.items() if symptom != "other"]
    assert "log-of-nonpositive" in shown.partition(TITLES["crash"])[0]


@pytest.mark.parametrize(
    ("query", "first", "also"),
    [
        ("softmax", "fully-masked-softmax", "softmax-before-cross-entropy"),
        ("NaN", "infinity-arithmetic", "log-of-nonpositive"),
        ("memory leak", "growing-collection", "retained-graph"),
        (
            "RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x100 and 64x10)",
            "matmul-size-mismatch",
            "linear-size-mismatch",
        ),
    ],
)
def test_words_that_name_no_cause_list_those_they_match_best_first(capsys, query, first, also):
    assert main(["explain", query]) == 0

    listed = names_listed(capsys.readouterr().out)
    assert listed[0] == first
    assert also in listed
    assert len(listed) < len(all_detectors()) / 2


def test_on_a_terminal_what_why_and_fix_come_before_the_programs():
    shown = ESCAPES.sub("", explain_on_a_terminal("log-of-nonpositive"))

    headings = re.findall(r"^([A-Z].*)$", shown, flags=re.MULTILINE)
    assert headings[:4] == ["What it finds", "Why it breaks training", "Fix", "Broken"]
    assert "    - loss = -torch.log(picked).mean()\n" in shown
    assert "# <- log-of-nonpositive" in shown


@pytest.mark.parametrize("words", [["retained-graph"], ["softmax"], []])
@pytest.mark.parametrize("columns", [30, 80, 120])
def test_no_line_is_wider_than_the_terminal(words, columns):
    shown = ESCAPES.sub("", explain_on_a_terminal(*words, columns=columns))

    assert max(len(line) for line in shown.splitlines()) <= columns


def test_no_color_leaves_no_colour():
    def coloured(text: str) -> list[str]:
        return re.findall(r"\x1b\[[0-9;]*?(?:3|9)[0-7](?:;[0-9;]*)?m", text)

    assert coloured(explain_on_a_terminal("retained-graph"))
    assert not coloured(explain_on_a_terminal("retained-graph", NO_COLOR="1"))


def test_what_does_not_fit_on_the_screen_goes_through_the_pager():
    page = explain_on_a_terminal("retained-graph", rows=24, PAGER="sed s/^/paged:/")
    short = explain_on_a_terminal("softmax", rows=24, PAGER="sed s/^/paged:/")

    assert all(line.startswith("paged:") for line in page.splitlines())
    assert "paged:" not in short


@pytest.mark.parametrize("pager", ["", "no-such-pager-anywhere", "'unclosed"])
def test_without_a_pager_the_page_is_printed(pager):
    assert "Fix" in explain_on_a_terminal("retained-graph", rows=24, PAGER=pager)


def test_a_pager_that_is_left_early_is_no_error():
    explain_on_a_terminal("retained-graph", rows=24, PAGER="true")


def test_a_reader_that_leaves_early_is_no_error():
    command = f"{sys.executable} -m torchwhy explain | head -n 1"

    done = subprocess.run(
        command,
        shell=True,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )

    assert done.stdout == f"## {TITLES['nonfinite']}\n"
    assert done.stderr == ""
