"""`--notify`: the command gets JSON, no shell reads it, and a bad command harms nothing."""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path

import pytest

from torchwhy.commands.live.live_options import command_words
from torchwhy.errors import UsageError
from torchwhy.follow.notifications import MOST_CALLS, Notifier

PATIENCE = 60.0  # seconds; a busy machine takes long to start Python
KEEP = "import sys; open(sys.argv[1], 'ab').write(sys.stdin.buffer.read())"


def keeping(path: Path) -> list[str]:
    return [sys.executable, "-c", KEEP, str(path)]


def test_the_command_gets_each_message_as_a_line_of_json(tmp_path):
    complaints: list[str] = []
    notifier = Notifier(keeping(tmp_path / "got"), complaints.append)

    notifier.send({"event": "finding", "text": "a $(touch x) `b` \x1b[31m ü"})
    notifier.send({"event": "withdrawn"})
    notifier.close(PATIENCE)

    lines = (tmp_path / "got").read_text(encoding="utf8").splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["finding", "withdrawn"]
    assert json.loads(lines[0])["text"] == "a $(touch x) `b` \x1b[31m ü"
    assert complaints == []


def test_no_shell_reads_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    target = tmp_path / "got; touch y"
    words = command_words(f"{shlex.quote(sys.executable)} -c {shlex.quote(KEEP)} '{target}'")

    notifier = Notifier(words, print)
    notifier.send({"event": "finding"})
    notifier.close(PATIENCE)

    assert [path.name for path in tmp_path.iterdir()] == ["got; touch y"]


@pytest.mark.parametrize(
    ("code", "limit", "words"),
    [
        ("import sys; sys.exit(7)", 60.0, "ended with exit code 7"),
        ("import time; time.sleep(60)", 0.5, "took longer than 0.5 s and was killed"),
        ("import os; os.close(0); raise SystemExit(3)", 60.0, "ended with exit code 3"),
    ],
)
def test_a_command_that_fails_is_told_once(code, limit, words):
    complaints: list[str] = []
    notifier = Notifier([sys.executable, "-c", code], complaints.append, limit=limit)

    for _ in range(2):
        notifier.send({"text": "x" * 300_000})
    notifier.close(PATIENCE)

    assert complaints == [f"--notify: {sys.executable} {words}."]


def test_a_command_that_hangs_holds_up_neither_the_run_nor_the_end():
    complaints: list[str] = []
    began = time.monotonic()
    notifier = Notifier([sys.executable, "-c", "import time; time.sleep(60)"], complaints.append)

    notifier.send({"event": "finding"})
    sent = time.monotonic() - began
    time.sleep(0.1)
    notifier.close(0.2)

    assert sent < 1.0
    assert time.monotonic() - began < 10.0
    assert "after the end of the run and was killed" in complaints[0]


def test_a_run_makes_a_limited_number_of_calls():
    notifier = Notifier(["/nowhere/command"], lambda _text: None)

    for _ in range(MOST_CALLS + 5):
        notifier.send({})

    assert notifier._calls == MOST_CALLS
    notifier.close(PATIENCE)


@pytest.mark.parametrize(
    ("command", "slug"),
    [
        ("", "wrong-option"),
        ("mail 'me", "wrong-option"),
        ("no-such-command-anywhere -x", "no-such-program"),
    ],
)
def test_a_command_that_cannot_run_is_refused_before_the_program(command, slug):
    with pytest.raises(UsageError) as refusal:
        command_words(command)

    assert refusal.value.slug == slug
