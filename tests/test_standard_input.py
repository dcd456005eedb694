"""What a program reads from standard input is fed to reruns; the program itself notices nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from torchwhy.observe.boot.kept_input import PIPE_NAME
from torchwhy.observe.launch import BOOT_FOLDER, describe_run, run_quietly
from torchwhy.observe.standard_input import FILE_NAME

SAYS = """import os, stat, sys
kind = [name for name in ("FIFO", "REG", "CHR") if getattr(stat, f"S_IS{name}")(os.fstat(0).st_mode)]
text = sys.stdin
print(kind, text.isatty(), text.seekable(), text.encoding, text.errors, text.name, text.mode, text.fileno())
print(repr(text.readline()), repr(text.read(3)), repr(text.buffer.readline()), text.closed)
"""
LINES = b"one\r\ntwo\nthree\nf\xc3\xb6ur\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _shell(command: str, here: Path) -> subprocess.CompletedProcess[bytes]:
    (here / "data").write_bytes(LINES)
    (here / "says.py").write_text(SAYS)
    return subprocess.run(
        ["bash", "-c", command], cwd=here, capture_output=True, check=False, timeout=120
    )


@pytest.mark.parametrize("given", ["cat data | {}", "{} < data", "{} < /dev/null"])
def test_the_program_sees_the_same_standard_input(given, here):
    bare = _shell(given.format(f"{sys.executable} says.py"), here)
    watched = _shell(given.format(f"{sys.executable} -m torchwhy run --quiet says.py"), here)

    assert bare.stdout
    assert watched.stdout == bare.stdout


@pytest.mark.parametrize(
    ("given", "name"), [("cat data | {}", PIPE_NAME), ("{} < data", FILE_NAME)]
)
def test_what_was_read_is_fed_to_a_rerun_in_the_same_way(given, name, here):
    first = _shell(given.format(f"{sys.executable} -m torchwhy run --quiet says.py"), here)
    (run_directory,) = (here / ".torchwhy" / "runs").iterdir()
    again = run_directory / "rerun"
    again.mkdir()

    run_quietly(again, describe_run(["says.py"], on_failure="stop"), limit_seconds=60)

    assert (run_directory / name).read_bytes() == LINES
    assert (again / "output.txt").read_bytes() == first.stdout


def test_a_program_that_reads_nothing_leaves_the_pipe_to_the_next_one(here):
    (here / "quiet.py").write_text("print('ran')")

    shown = _shell(
        f"cat data | (while read line; do {sys.executable} -m torchwhy run --quiet quiet.py; done)",
        here,
    )

    assert shown.stdout == b"ran\n" * 4
    assert not list(here.glob(f".torchwhy/runs/*/{PIPE_NAME}"))


def test_the_boot_does_not_import_the_copying_reader_without_a_pipe(here):
    code = "import sys; print('torchwhy.observe.boot.kept_input' in sys.modules)"
    environment = {"PYTHONPATH": str(BOOT_FOLDER), "TORCHWHY_RUN": str(here)}

    ended = subprocess.run(
        [sys.executable, "-c", code],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment,
        check=True,
    )

    assert ended.stdout == b"False\n"
