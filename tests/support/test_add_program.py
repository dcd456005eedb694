"""A program is added to its cause with its report, or refused with one sentence and nothing written."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.support.add_program import RefusedError, add, main
from tests.support.children import Zygote, shared_zygote
from tests.support.run_program import read_program, run_program

BROKEN = """\
import torch

net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(3):
    x = torch.rand(4, 3)
    loss = (net(x) - torch.log(x - x.min())).pow(2).mean(){mark}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
MARKED = BROKEN.format(mark="  # <- log-of-nonpositive")
UNMARKED = BROKEN.format(mark="")
HEALTHY = UNMARKED.replace("x - x.min()", "x + 1")


@pytest.fixture
def zygote() -> Zygote:
    return shared_zygote()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "programs"


@pytest.fixture
def add_here(zygote: Zygote, folder: Path) -> Callable[..., Path]:
    """`add` that writes into the test's own folder."""
    return partial(
        add,
        name=None,
        healthy=None,
        folder=folder,
        run=lambda program, place: run_program(program, zygote=zygote, folder=place),
    )


def write(folder: Path, text: str) -> Path:
    file = folder / "train.py"
    file.write_text(text)
    return file


def test_a_marked_program_is_kept_with_its_cause_and_its_report(
    tmp_path: Path,
    folder: Path,
    add_here: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    target = add_here(write(tmp_path, MARKED), name="log_of_zero")

    assert target == folder / "log-of-nonpositive" / "broken" / "log_of_zero.py"
    assert target.read_text() == MARKED
    report = target.with_name("log_of_zero.report.txt").read_text()
    assert "takes the logarithm of 0" in report
    assert capsys.readouterr().out == report


def test_a_folder_is_kept_with_all_its_files(
    tmp_path: Path, folder: Path, add_here: Callable[..., Path]
) -> None:
    source = tmp_path / "project"
    (source / "data").mkdir(parents=True)
    (source / "data" / "labels.py").write_text(
        "import torch\n\n\ndef label(x):\n    return torch.log(x - x.min())  # <- log-of-nonpositive\n"
    )
    imported = UNMARKED.replace("torch.log(x - x.min())", "label(x)")
    (source / "train.py").write_text(f"from data.labels import label\n{imported}")

    target = add_here(source)

    assert target == folder / "log-of-nonpositive" / "broken" / "project"
    assert read_program(target).files == read_program(source).files
    assert target.with_name("project.report.txt").exists()


def test_a_healthy_program_is_kept_with_the_cause_it_resembles(
    tmp_path: Path, folder: Path, add_here: Callable[..., Path]
) -> None:
    file = write(tmp_path, HEALTHY)

    target = add_here(file, name="log_of_more_than_one", healthy="log-of-nonpositive")

    assert target == folder / "log-of-nonpositive" / "healthy" / "log_of_more_than_one.py"
    assert "nothing found" in target.with_name("log_of_more_than_one.report.txt").read_text()


@pytest.mark.parametrize(
    ("text", "healthy", "sentence"),
    [
        (UNMARKED, None, "torchwhy names log-of-nonpositive at train.py:7: if that is right"),
        (HEALTHY, None, "torchwhy finds nothing: if the program is healthy"),
        (UNMARKED, "whole_programs", "Expected nothing, found log-of-nonpositive:7."),
        (
            MARKED.replace("- log-of-nonpositive", "- exp-overflow"),
            None,
            "Expected exp-overflow:7, found log-of-nonpositive:7.",
        ),
        (f"{HEALTHY}raise SystemExit(3)\n", "whole_programs", "ended with exit code 3"),
    ],
)
def test_a_program_with_another_outcome_is_refused(
    tmp_path: Path,
    folder: Path,
    add_here: Callable[..., Path],
    *,
    text: str,
    healthy: str | None,
    sentence: str,
) -> None:
    with pytest.raises(RefusedError, match=sentence):
        add_here(write(tmp_path, text), name="program", healthy=healthy)

    assert not folder.exists()


@pytest.mark.parametrize(
    ("text", "name", "healthy", "sentence"),
    [
        (MARKED, None, None, "`train` says too little"),
        (MARKED, "../up", None, "`../up` says too little"),
        (MARKED, "marked", "log-of-nonpositive", "Line 7 is marked as guilty"),
        (MARKED * 2, "marked", None, "marks 2 lines"),
        (MARKED.replace("- log", "- lag"), "marked", None, "`lag-of-nonpositive` is no cause"),
        (HEALTHY, "silent", "nothing", "`nothing` is no cause"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(
    tmp_path: Path,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    text: str,
    name: str | None,
    healthy: str | None,
    sentence: str,
) -> None:
    with pytest.raises(RefusedError, match=sentence):
        add(write(tmp_path, text), name=name, healthy=healthy, folder=folder)

    assert capsys.readouterr().out == ""
    assert not folder.exists()


@pytest.mark.parametrize("taken", ["old.py", "old/train.py", "old.report.txt"])
def test_a_program_that_exists_is_never_overwritten(
    tmp_path: Path, folder: Path, taken: str
) -> None:
    file = folder / "log-of-nonpositive" / "broken" / taken
    file.parent.mkdir(parents=True)
    file.write_text("kept")

    with pytest.raises(RefusedError, match="exists already"):
        add(write(tmp_path, MARKED), name="old", healthy=None, folder=folder)

    assert file.read_text() == "kept"


@pytest.mark.parametrize("content", [None, b"\x89PNG\xff"])
def test_the_command_says_in_one_line_why_it_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None
) -> None:
    file = tmp_path / "picture.py"
    if content is not None:
        file.write_bytes(content)

    code = main([str(file)])

    written = capsys.readouterr()
    assert code == 1
    assert written.out == ""
    assert written.err.startswith(f"Not added. {file} is n")
    assert written.err.count("\n") == 1
