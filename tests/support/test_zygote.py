"""The zygote's children must be what a fresh interpreter would be: else every test on programs means little."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.children import Ended, Zygote
from tests.support.run_program import Outcome, ProgramText, marked, run_program


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    started = Zygote()
    yield started
    started.close()


def run_bare(
    zygote: Zygote, folder: Path, text: str, *, limit_seconds: float = 30
) -> tuple[Ended, str, str]:
    """Run without torchwhy; return how it ended, and what it wrote to stdout and stderr."""
    script = folder / "train.py"
    script.write_text(text)
    ended = zygote.run(
        script,
        directory=folder,
        output=folder,
        run_directory=None,
        arguments=("--lr", "3"),
        limit_seconds=limit_seconds,
    )
    return ended, (folder / "stdout").read_text(), (folder / "stderr").read_text()


def run_watched(zygote: Zygote, folder: Path, text: str) -> Outcome:
    return run_program(ProgramText("it", text, marked(text)), zygote=zygote, folder=folder)


def test_program_sees_itself_as_the_main_module(zygote, tmp_path):
    text = "import sys\nprint(__name__, __file__, sys.argv[1:], sys.path[0], sys.modules['__main__'].__file__)"

    _, stdout, _ = run_bare(zygote, tmp_path, text)

    script = str(tmp_path / "train.py")
    assert stdout.split() == ["__main__", script, "['--lr',", "'3']", str(tmp_path), script]


def test_uncaught_exception_shows_a_traceback_that_starts_in_the_program(zygote, tmp_path):
    ended, _, stderr = run_bare(zygote, tmp_path, "def f():\n    raise ValueError('no')\nf()")

    assert ended.exit_code == 1
    assert stderr.splitlines()[1].strip() == f'File "{tmp_path / "train.py"}", line 3, in <module>'
    assert stderr.splitlines()[-1] == "ValueError: no"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("import sys; sys.exit(7)", 7),
        ("raise SystemExit", 0),
        ("import sys; sys.exit('bye')", 1),
        ("pass", 0),
    ],
)
def test_exit_code_is_the_interpreters(zygote, tmp_path, text, code):
    ended, _, _ = run_bare(zygote, tmp_path, text)

    assert ended.exit_code == code


def test_exit_handlers_run_after_the_program(zygote, tmp_path):
    _, stdout, _ = run_bare(
        zygote, tmp_path, "import atexit\natexit.register(print, 'last')\nprint('first')"
    )

    assert stdout.split() == ["first", "last"]


def test_finalizers_of_the_program_run_at_exit(zygote, tmp_path):
    text = """
import weakref
class Kept: pass
kept = Kept()
weakref.finalize(kept, print, 'last')
print('first')
"""

    _, stdout, _ = run_bare(zygote, tmp_path, text)

    assert stdout.split() == ["first", "last"]


def test_warnings_are_no_errors_inside_the_program(zygote, tmp_path):
    ended, _, stderr = run_bare(
        zygote, tmp_path, "import warnings\nwarnings.warn('careful', stacklevel=1)"
    )

    assert ended.exit_code == 0
    assert "UserWarning: careful" in stderr


def test_program_that_never_ends_is_ended(zygote, tmp_path):
    ended, _, _ = run_bare(zygote, tmp_path, "while True: pass", limit_seconds=0.5)

    assert ended.timed_out


def test_one_program_leaves_nothing_behind_for_the_next(zygote, tmp_path):
    run_bare(
        zygote,
        tmp_path,
        "import torch\ntorch.manual_seed(5)\ntorch.set_default_dtype(torch.float64)",
    )
    (tmp_path / "stdout").unlink()

    _, stdout, _ = run_bare(
        zygote, tmp_path, "import torch\nprint(torch.initial_seed() == 5, torch.ones(1).dtype)"
    )

    assert stdout.split() == ["False", "torch.float32"]


def test_healthy_program_that_crashes_is_not_as_expected(zygote, tmp_path):
    outcome = run_watched(
        zygote, tmp_path, "import torch\nraise RuntimeError('a slip in the example')"
    )

    assert not outcome.as_expected
    assert "a slip in the example" in outcome.describe()


def test_marked_line_that_is_healthy_is_not_as_expected(zygote, tmp_path):
    outcome = run_watched(
        zygote, tmp_path, "import torch\nprint(torch.ones(2))  # <- division-by-zero"
    )

    assert not outcome.as_expected
