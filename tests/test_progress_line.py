"""A second run tells a terminal how far it is; a file gets nothing."""

from __future__ import annotations

import io

from torchwhy.commands.guidance.progress_line import ProgressLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_time_left_comes_from_the_steps_and_not_from_the_start():
    line = ProgressLine(None, last=110)

    line(20.0, None)
    line(21.0, 10)
    line(31.0, 60)

    assert line.words(31.0, 60) == "step 60 of 110, 31 s, about 10 s left"


def test_before_two_steps_the_limit_is_told():
    line = ProgressLine(None, last=110, limit_seconds=300.0)
    line(2.0, 10)

    assert line.words(1.5, None) == "starting, 2 s of at most 300"
    assert line.words(2.0, 10) == "step 10 of 110, 2 s of at most 300"


def test_the_time_left_is_never_more_than_the_limit_leaves():
    line = ProgressLine(None, last=10_000, limit_seconds=60.0)
    line(1.0, 0)

    assert line.words(11.0, 1) == "step 1 of 10000, 11 s, about 49 s left"


def test_a_run_that_ends_by_itself_has_no_last_step():
    assert ProgressLine(None, last=None).words(4.0, 7) == "step 7, 4 s"


def test_only_a_terminal_sees_the_line_and_it_is_removed():
    file, terminal = io.StringIO(), Terminal()
    for stream in (file, terminal):
        line = ProgressLine(stream, last=4)
        line(0.5, 0)
        line(2.0, 1)
        line.clear()

    assert file.getvalue() == ""
    assert terminal.getvalue().startswith("\r\x1b[Ktorchwhy: step 1 of 4, 2 s")
    assert terminal.getvalue().endswith("\r\x1b[K")
