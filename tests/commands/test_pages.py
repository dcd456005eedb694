"""`report -f html`, `run --html` and `view`, from the words typed to the files written."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from torchwhy.commands import main
from torchwhy.commands.view import RunsFolder, runs_in
from torchwhy.observe.run_directories import RUNS_FOLDER
from torchwhy.record.events import RunStarted, Step
from torchwhy.record.learning import StaleGradients
from torchwhy.record.run_file import Run, read_run, write_run

NAMES = ("20260131T120000Z-train-0001", "20260201T120000Z-train-0002")


def record(folder: Path, name: str, *, exit_code: int | None = 0, pid: int = 1) -> Path:
    directory = folder / name
    directory.mkdir(parents=True)
    run = Run(command=("train.py", "--lr", "3"), directory=str(folder), exit_code=exit_code)
    write_run(directory, run)
    started = RunStarted(
        schema=1, pid=pid, rank=0, world_size=1, argv=[], directory=str(folder), python="3",
        torch="2", started_unix_seconds=0.0,
    )  # fmt: skip
    steps = [
        Step(step=step, optimizer=0, losses=[1.0 / (step + 1)], milliseconds=1.0)
        for step in range(4)
    ]
    lines = [msgspec.json.encode(event) + b"\n" for event in (started, *steps)]
    (directory / "rank0.jsonl").write_bytes(b"".join(lines))
    return directory


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("torchwhy.report.page.vega_bundle.version", lambda: None)
    for name in NAMES:
        record(tmp_path / RUNS_FOLDER, name)
    return tmp_path / RUNS_FOLDER


def test_a_page_is_written_into_the_run_and_its_path_is_printed(runs, capsys):
    assert main(["report", "-f", "html"]) == 0

    path = Path(capsys.readouterr().out.strip())
    assert path == RUNS_FOLDER / NAMES[1] / "report.html"
    assert "nothing found in 4 steps" in path.read_text(encoding="utf8")


def test_no_page_is_written_unless_it_is_asked_for(runs, capsys):
    assert main(["report"]) == 0
    assert main(["report", "-o", "report.txt"]) == 0

    assert list(runs.rglob("*.html")) == []
    assert "nothing found" in Path("report.txt").read_text(encoding="utf8")


@pytest.mark.parametrize("words", [["-o", "page.html"], ["-o", "-"]])
def test_a_page_goes_where_the_user_says(runs, capsys, words):
    assert main(["report", "-f", "html", *words]) == 0

    text = capsys.readouterr().out if words[1] == "-" else Path("page.html").read_text("utf8")
    assert text.startswith("<!doctype html>")
    assert list(runs.rglob("*.html")) == []


@pytest.mark.parametrize(
    "words",
    [
        ["report", "-f", "html", "-o", "nowhere/page.html"],
        ["run", "--html", "nowhere/page.html", "train.py"],
    ],
)
def test_a_page_in_no_directory_is_refused_at_once(runs, capsys, words):
    Path("train.py").write_text("print('ran')\n", encoding="utf8")

    assert main(words) == 2

    told = capsys.readouterr()
    assert "there is no directory" in told.err
    assert told.err.endswith("[cannot-write-report]\n")
    assert told.out == ""


def test_no_data_is_kept_in_run_json(tmp_path):
    run = Run(command=("train.py",), directory="/", keeps_data=False)
    write_run(tmp_path, run)

    assert read_run(tmp_path).keeps_data is False
    assert replace(run, keeps_data=True).to_json()["options"] == {"on_failure": "stop"}


def test_a_port_in_use_is_one_sentence(runs, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        assert main(["view", "--port", str(port)]) == 2

    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert f"port {port} cannot be used" in told
    assert told.endswith("[port-in-use]\n")


@pytest.mark.parametrize(
    ("words", "slug"),
    [
        (["--port", "0"], "wrong-option"),
        (["--port", "x"], "wrong-option"),
        (["nowhere"], "unknown-run"),
    ],
)
def test_wrong_words_are_refused(runs, capsys, words, slug):
    assert main(["view", *words]) == 2
    assert capsys.readouterr().err.endswith(f"[{slug}]\n")


def test_runs_are_listed_newest_first(runs):
    html = RunsFolder(runs).list_page()

    assert html.index(NAMES[1]) < html.index(NAMES[0])
    assert "2026-01-31 12:00:00" in html
    assert "healthy" in html


def test_a_run_that_goes_on_has_a_live_page(runs):
    record(runs, "20260301T120000Z-train-0003", exit_code=None, pid=os.getpid())
    folder = RunsFolder(runs)

    assert "Findings so far" in (folder.run_page("20260301T120000Z-train-0003") or "")
    facts = folder.live("20260301T120000Z-train-0003")
    assert facts is not None
    assert (facts["ended"], facts["steps"]) == (False, 4)


def test_the_live_page_tells_what_the_terminal_tells(runs, monkeypatch):
    monkeypatch.setattr("torchwhy.commands.view.REST", 0.0)
    directory = record(runs, "20260301T120000Z-train-0003", exit_code=None, pid=os.getpid())
    folder = RunsFolder(runs)
    stale = StaleGradients(step=16, optimizer=0, used_at_step=0, times=16, cleared_ever=False)
    looks = []

    for first in (4, 20):
        steps = [
            Step(step=step, optimizer=0, losses=[1.0], milliseconds=1.0)
            for step in range(first, first + 16)
        ]
        with (directory / "rank0.jsonl").open("ab") as trace:
            trace.writelines(msgspec.json.encode(event) + b"\n" for event in (*steps, stale))
        facts = folder.live(directory.name)
        assert facts is not None
        looks.append([(one["severity"], one["detector"]) for one in facts["findings"]])

    assert looks == [[], [("error", "missing-zero-grad")]]


def test_a_run_whose_process_is_gone_has_its_page(runs):
    record(runs, "20260301T120000Z-train-0003", exit_code=None, pid=2**22 + 1)

    page = RunsFolder(runs).run_page("20260301T120000Z-train-0003")

    assert "the run has not ended, or torchwhy was killed" in (page or "")


@pytest.mark.parametrize("name", ["..", "../runs", "", "nothing", NAMES[0] + "/", "."])
def test_only_listed_runs_have_a_page(runs, name):
    folder = RunsFolder(runs)

    assert folder.run_page(name) is None
    assert folder.live(name) is None


def test_a_damaged_run_is_listed_as_such(runs):
    (runs / NAMES[0] / "run.json").write_text("{", encoding="utf8")

    assert "unreadable" in RunsFolder(runs).list_page()


def test_a_project_or_its_folder_of_runs_can_be_named(runs, tmp_path):
    assert runs_in(tmp_path) == runs
    assert runs_in(runs) == runs


PROGRAM = """
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
rows = torch.rand(64, 12)
rows[37] = rows[37] - rows[37]
model = torch.nn.Linear(12, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for (x,) in DataLoader(TensorDataset(rows), batch_size=8):
    loss = model(x / x.norm(dim=1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.slow
def test_the_page_of_a_real_failure_shows_the_sample_unless_data_is_to_be_left_out(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(PROGRAM, encoding="utf8")
    torchwhy = [sys.executable, "-m", "torchwhy"]

    subprocess.run(
        [*torchwhy, "run", "--html", "page.html", "train.py"], check=False, capture_output=True
    )
    subprocess.run([*torchwhy, "report", "-f", "html", "--no-data", "-o", "bare.html"], check=True)

    page, bare = Path("page.html").read_text("utf8"), Path("bare.html").read_text("utf8")
    assert "sample 5, which breaks the step" in page
    assert "histogram of" in page
    assert "division-by-zero" in page
    assert "division-by-zero" in bare
    assert "which breaks the step" not in bare
    assert "histogram of" not in bare
