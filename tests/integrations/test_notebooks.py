"""Cells of a notebook, in a real kernel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from torchwhy import load
from torchwhy.errors import UsageError
from torchwhy.integrations.notebook_run import run_notebook

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

CHROMIUM = shutil.which("chromium")
SOURCE = str(Path(__file__).resolve().parents[2] / "src")
SETUP = """\
import torch
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
rows = torch.randn(16, 4)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loader = DataLoader(TensorDataset(rows, torch.randn(16, 1)), batch_size=4)
%load_ext torchwhy
"""
TRAIN = """\
for x, y in loader:
    unit = x / x.norm(dim=1, keepdim=True)
    loss = (model(unit) - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
OWN_BATCHES = """\
place = iter(range(4))
while True:
    start = 4 * next(place)
    x = rows[start : start + 4]
    loss = model(x / x.norm(dim=1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
STALE = """\
%%torchwhy
late = torch.optim.SGD(model.parameters(), lr=0.001)
for start in range(40):
    loss = (model(rows[:8]) - 1).pow(2).mean()
    loss.backward()
    late.step()
print("training goes on")
"""


def run(folder: Path, *cells: str):
    """Return the cells after a kernel has run all of them, whatever their errors."""
    made = [nbformat.v4.new_code_cell(text) for text in cells]
    notebook = nbformat.v4.new_notebook(cells=made)
    os.environ["PYTHONPATH"] = SOURCE
    client = nbclient.NotebookClient(
        notebook, timeout=100, allow_errors=True, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    return notebook.cells


def text_of(cell) -> str:
    """Return all that a cell shows as text."""
    shown = []
    for output in cell.outputs:
        shown.append(output.get("text", "") or output.get("data", {}).get("text/plain", ""))
        shown += output.get("traceback", [])
    return "\n".join(shown)


def html_of(cell) -> str:
    return "".join(output.get("data", {}).get("text/html", "") for output in cell.outputs)


@pytest.fixture
def kernel_environment(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "")  # it is put back in the end
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.mark.usefixtures("kernel_environment")
def test_a_cell_is_watched_and_its_report_is_below_it(tmp_path):
    cells = run(
        tmp_path,
        SETUP,
        f"%%torchwhy\n{TRAIN}\nloss.item() > 0",
        "rows[9] = 0",
        f"%%torchwhy\n{TRAIN}",
        "%torchwhy on",
        TRAIN,
        "model(rows[:, :3])",
        "%torchwhy off",
    )
    healthy, broken, under_on, wrong_size = cells[1], cells[3], cells[5], cells[6]

    assert text_of(healthy) == "True"
    for cell, name, line in ((broken, "In [4]", 3), (under_on, "In [6]", 2)):
        assert [output.output_type for output in cell.outputs] == ["display_data", "error"]
        assert f"{name}, line {line}" in html_of(cell)
        assert "x / x.norm(dim=1, keepdim=True)</mark>" in html_of(cell)
        assert cell.outputs[1].ename == "TrainingBroke"
        assert len(cell.outputs[1].traceback) == 1
        assert "row 9" in cell.outputs[1].traceback[0]
    assert "linear-size-mismatch" in html_of(wrong_size)
    assert wrong_size.outputs[-1].ename == "RuntimeError"
    assert "src/torchwhy" not in "".join(wrong_size.outputs[-1].traceback)
    assert len(list((tmp_path / ".torchwhy" / "runs").iterdir())) == 4


@pytest.mark.usefixtures("kernel_environment")
def test_what_cannot_be_repeated_is_explained_closely(tmp_path):
    cells = run(
        tmp_path,
        SETUP + "rows[9] = 0",
        f"%%torchwhy\n{OWN_BATCHES}",
        f"%%torchwhy --closely\n{OWN_BATCHES}",
        "%%torchwhy --loudly\n1",
        STALE,
    )

    assert "run this cell again with <code>%%torchwhy --closely</code>" in html_of(cells[1])
    assert "division-by-zero" in html_of(cells[2])
    assert "In [3], line 6" in html_of(cells[2])
    assert "--loudly is not known" in text_of(cells[3])
    assert "In [5], line 5" in html_of(cells[4])
    assert ">+    late.zero_grad()" in html_of(cells[4])
    assert "training goes on" in text_of(cells[4])
    for cell in cells[1:3]:
        assert "&#39;%%torchwhy" not in html_of(cell)
        assert "'%%torchwhy" not in text_of(cell)


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium (apt-get install chromium)")
@pytest.mark.usefixtures("kernel_environment")
def test_a_browser_shows_the_report_and_copies_the_change(tmp_path):
    from playwright.sync_api import sync_playwright

    _, broken = run(tmp_path, SETUP + "rows[9] = 0", f"%%torchwhy\n{TRAIN}")
    page = tmp_path / "cell.html"
    page.write_text(f"<!doctype html><meta charset=utf-8>{html_of(broken)}", encoding="utf8")
    # As front ends that do not trust a notebook show it: no scripts, no styles.
    bare = re.sub(
        r"<script>.*?</script>| style=\"[^\"]*\"", "", page.read_text("utf8"), flags=re.DOTALL
    )
    (tmp_path / "bare.html").write_text(bare, encoding="utf8")

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
        tab, complaints = context.new_page(), []
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.goto(page.as_uri())
        tab.get_by_role("button", name="Copy the change").first.click()
        tab.get_by_role("button", name="Copied").wait_for()
        copied = tab.evaluate("navigator.clipboard.readText()")
        marked = tab.locator("mark").first.inner_text()
        fonts = tab.locator("pre").first.evaluate("one => getComputedStyle(one).fontFamily")
        tab.goto((tmp_path / "bare.html").as_uri())
        without = tab.locator("body").inner_text()
        buttons = tab.get_by_role("button").count()
        browser.close()

    assert complaints == []
    assert "+    unit = x / x.norm(dim=1, keepdim=True).clamp_min(1e-8)\n" in copied
    assert "\n %%torchwhy\n" in copied
    assert marked == "x / x.norm(dim=1, keepdim=True)"
    assert fonts == "monospace"
    assert buttons == 0
    assert "divides by zero" in without
    assert "In [2], line 3" in without
    assert "use strict" not in without


def test_plain_ipython_shows_text(tmp_path):
    typed = [
        *SETUP.splitlines(),
        "rows[9] = 0",
        f"get_ipython().run_cell({'%%torchwhy' + chr(10) + TRAIN!r});",
    ]
    environment = {**os.environ, "PYTHONPATH": SOURCE, "OMP_NUM_THREADS": "1"}
    environment["IPYTHONDIR"] = str(tmp_path / "ipython")

    command = [
        sys.executable,
        "-m",
        "IPython",
        "--simple-prompt",
        "--no-banner",
        "--colors=nocolor",
    ]
    done = subprocess.run(
        command,
        input="\n".join(typed) + "\n",
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
    )

    assert "error[division-by-zero]" in done.stdout, done.stderr
    assert "x / x.norm(dim=1, keepdim=True)" in done.stdout
    assert (
        "TrainingBroke: x / x.norm(dim=1, keepdim=True) divides by zero"
        in done.stdout + done.stderr
    )
    assert "Traceback" not in done.stdout + done.stderr
    assert "<div" not in done.stdout


@pytest.mark.usefixtures("kernel_environment")
def test_a_notebook_runs_from_the_command_line(tmp_path):
    setup = SETUP.replace("%load_ext torchwhy", "rows[9] = 0; print('made')")
    cells = [nbformat.v4.new_code_cell(text) for text in (setup, TRAIN, "print('never')")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "study.ipynb")
    environment = {**os.environ, "PYTHONPATH": SOURCE}

    command = [sys.executable, "-m", "torchwhy", "run", "study.ipynb"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )

    assert (done.returncode, done.stdout) == (1, "made\n")
    assert "torchwhy: training broke" in done.stderr
    assert "In [2], line 2" in done.stderr
    assert "TrainingBroke: x / x.norm(dim=1, keepdim=True) divides by zero" in done.stderr
    assert "Warning" not in done.stderr
    assert load(next((tmp_path / ".torchwhy" / "runs").iterdir())).command == ("notebook",)


@pytest.mark.parametrize(
    ("text", "words", "slug"),
    [
        ("not json", "study.ipynb is not a notebook", "not-a-notebook"),
        ('{"cells": 3}', "study.ipynb is not a notebook", "not-a-notebook"),
        (None, "the notebook study.ipynb does not exist", "no-such-script"),
    ],
)
def test_what_is_no_notebook_gets_one_sentence(tmp_path, monkeypatch, text, words, slug):
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / "study.ipynb").write_text(text, encoding="utf8")

    with pytest.raises(UsageError, match=words) as caught:
        run_notebook(Path("study.ipynb"))

    assert caught.value.slug == slug


def test_a_missing_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "nbformat", None)

    with pytest.raises(UsageError, match=r"pip install 'torchwhy\[notebook\]'") as caught:
        run_notebook(tmp_path / "study.ipynb")

    assert caught.value.slug == "missing-extra"
