"""The text that a loader's worker sends instead of an exception."""

from __future__ import annotations

from torchwhy.replay.crash.hidden.worker_traceback import read

TEXT = """Caught RuntimeError in DataLoader worker process 1.
Original Traceback (most recent call last):
  File "{python}/site-packages/torch/utils/data/_utils/worker.py", line 374, in _worker_loop
    data = fetcher.fetch(index)
           ^^^^^^^^^^^^^^^^^^^^
  File "{file}", line 3, in __getitem__
    return x @ torch.zeros(5, 3)
           ~~^~~~~~~~~~~~~~~~~~~
RuntimeError: mat1 and mat2 shapes cannot be multiplied (1x4 and 5x3)
"""


def test_innermost_line_of_the_user_is_found_with_its_columns(tmp_path):
    file = tmp_path / "data.py"
    file.write_text(
        "class D:\n    def __getitem__(self, i):\n        return x @ torch.zeros(5, 3)\n"
    )

    error = read(TEXT.format(file=file, python="/usr/lib/python3"))

    assert error is not None
    assert error.type == "RuntimeError"
    assert error.message == "mat1 and mat2 shapes cannot be multiplied (1x4 and 5x3)"
    assert error.location is not None
    assert (error.location.line, error.location.function) == (3, "__getitem__")
    assert error.location.expression == "x @ torch.zeros(5, 3)"


def test_message_of_several_lines_is_kept_whole():
    error = read(
        "Caught ValueError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\n"
        '  File "data.py", line 1, in f\n    g()\nValueError: first\nsecond\n'
    )

    assert error is not None
    assert error.message == "first\nsecond"


def test_other_messages_are_nobodys():
    assert read("mat1 and mat2 shapes cannot be multiplied") is None
