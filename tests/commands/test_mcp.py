"""`torchwhy mcp` as the SDK's own client sees it: over stdio, and in this process."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from torchwhy.commands import main
from torchwhy.commands.agents import bounded_process
from torchwhy.commands.agents.bounded_process import HEAD, TAIL, Kept
from torchwhy.commands.agents.mcp_tools import make_server
from torchwhy.observe.run_directories import RUNS_FOLDER
from torchwhy.record.run_file import Run, write_run

SOURCE = Path(__file__).resolve().parents[2] / "src"
BROKEN = """import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(6):
    x = torch.randn(8, 4)
    loss = (model(x) / (step - 3)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
TALKS = "import sys\nfor i in range(40000): print('line', i, sys.argv[1:])\n"
TOOLS = {"run", "check", "fix", "report", "explain", "list_runs"}


@pytest.fixture
def root(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(BROKEN)
    (folder / "talks.py").write_text(TALKS)
    (tmp_path / "outside.py").write_text("print('outside')\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    return folder


def call(root: Path, tool: str, **arguments: Any) -> tuple[str, bool]:
    """Call one tool of a server in this process; return its text and whether it is an error."""

    async def ask() -> tuple[str, bool]:
        async with Client(make_server(root)) as client:
            result = await client.call_tool(tool, arguments)
            return result.content[0].text, bool(result.is_error)

    return anyio.run(ask)


def test_a_client_over_stdio_runs_a_script_and_reads_its_report(root):
    async def talk() -> Mapping[str, Any]:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "torchwhy", "mcp"], env=environment, cwd=root
        )
        async with Client(server) as client:
            listed = await client.list_tools()
            ran = await client.call_tool("run", {"script": "train.py"})
            found = await client.call_tool("list_runs", {})
            told = await client.call_tool("report", {"run": "train.py"})
            data = await client.call_tool("report", {"format": "json"})
        return {
            "tools": {tool.name for tool in listed.tools},
            "undescribed": [tool.name for tool in listed.tools if not tool.description],
            **{
                name: result.content[0].text
                for name, result in (("ran", ran), ("runs", found), ("md", told), ("json", data))
            },
        }

    seen = anyio.run(talk)

    assert seen["tools"] == TOOLS
    assert seen["undescribed"] == []
    assert "division-by-zero" in seen["ran"]
    assert json.loads(seen["runs"])[0]["root_cause"] == "division-by-zero"
    assert "`division-by-zero`" in seen["md"]
    assert "8 | " in seen["md"]
    assert json.loads(seen["json"])["root_cause"] == "F1"


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("../outside.py", "outside-project"),
        ("/etc/passwd", "outside-project"),
        ("linked.py", "outside-project"),
        ("missing.py", "no-such-script"),
        ("notes.txt", "no-such-script"),
        (".", "no-such-script"),
        ("a\0b.py", "no-such-script"),
        ("--help", "no-such-script"),
        ("x" * 5000, "no-such-script"),
    ],
)
@pytest.mark.parametrize("tool", ["run", "check", "fix"])
def test_only_scripts_of_the_folder_are_run(root, tool, name, slug):
    (root / "linked.py").symlink_to(root.parent / "outside.py")
    (root / "notes.txt").write_text("x")

    text, is_error = call(root, tool, script=name)

    assert is_error
    assert text.endswith(f"[{slug}]")
    assert not (root / ".torchwhy").exists()


def test_a_run_outside_the_folder_or_of_another_folder_is_refused(root):
    elsewhere = root.parent / "elsewhere"
    foreign = root / RUNS_FOLDER / "20260131T120000Z-train-0001"
    for directory in (elsewhere, foreign):
        directory.mkdir(parents=True)
        write_run(directory, Run(("train.py",), "/etc", exit_code=0))

    outside, is_error = call(root, "report", run="../elsewhere")
    assert is_error
    assert outside.endswith("[outside-project]")
    text, is_error = call(root, "report")
    assert is_error
    assert text.endswith("[outside-project]")
    assert call(root, "fix", run="0001")[1]


def test_a_report_quotes_no_file_outside_the_folder(root):
    secret = root.parent / "secret.txt"
    secret.write_text("password = 'hunter2'\n")
    directory = root / RUNS_FOLDER / "20260131T120000Z-train-0001"
    directory.mkdir(parents=True)
    write_run(directory, Run(("train.py",), str(root), exit_code=0))
    place = {"file": "../secret.txt", "line": 1}
    finding = {
        "id": "F1", "detector": "nan", "severity": "error", "certainty": "observed", "step": 1,
        "rank": 0, "message": "m", "location": place, "sample": None, "evidence": [],
        "explains": [], "fixes": [],
    }  # fmt: skip
    facts = {"schema": 1, "command": ["train.py"], "steps": 1, "findings": [finding]}
    (directory / "report.json").write_text(json.dumps(facts))

    for form in ("md", "json", "sarif"):
        text, is_error = call(root, "report", format=form)
        assert not is_error
        assert "secret.txt" in text
        assert "hunter2" not in text


def test_arguments_are_words_for_the_program_and_no_shell_reads_them(root):
    (root / "echo.py").write_text("import sys\nprint(sys.argv[1:])\n")
    words = ["$(touch owned)", "; touch owned", "--help", "--fix"]

    text, is_error = call(root, "run", script="echo.py", arguments=words)

    assert not is_error
    assert str(words) in text
    assert not (root / "owned").exists()


def test_long_output_is_cut_in_the_middle(root):
    text, _ = call(root, "run", script="talks.py")

    assert "line 0 " in text
    assert "line 39999 " in text
    assert "bytes left out" in text
    assert len(text) < HEAD + TAIL + 1000


def test_a_script_is_ended_when_its_time_is_up(root, monkeypatch):
    (root / "sleeps.py").write_text("import time\nprint('awake', flush=True)\ntime.sleep(600)\n")
    monkeypatch.setattr(bounded_process, "GRACE_SECONDS", 5.0)

    text, _ = call(root, "run", script="sleeps.py", limit_seconds=4.0)

    assert "awake" in text
    assert "the time of 4 s was up" in text


@pytest.mark.parametrize("seconds", [0, -1, 1e9, float("nan")])
def test_a_wrong_limit_is_refused(root, seconds):
    text, is_error = call(root, "run", script="train.py", limit_seconds=seconds)

    assert is_error
    assert not (root / ".torchwhy").exists()
    assert "limit_seconds" in text


def test_a_page_is_explained_and_an_unknown_word_is_an_error(root):
    page, is_error = call(root, "explain", words="division-by-zero")
    assert not is_error
    assert "Why it breaks training" in page

    text, is_error = call(root, "explain", words="qqqqq")
    assert is_error
    assert text.endswith("[unknown-detector]")


def test_data_that_does_not_fit_is_refused_rather_than_cut(root, monkeypatch):
    directory = root / RUNS_FOLDER / "20260131T120000Z-train-0001"
    directory.mkdir(parents=True)
    write_run(directory, Run(("train.py",), str(root), exit_code=0))
    notes = ["n" * 1000] * 300
    facts = {"schema": 1, "command": ["train.py"], "steps": 1, "findings": [], "notes": notes}
    (directory / "report.json").write_text(json.dumps(facts))

    text, is_error = call(root, "report", format="json")

    assert is_error
    assert "ask for md" in text
    assert not call(root, "report")[1]


def test_the_kept_output_has_its_beginning_and_its_end():
    kept = Kept()
    for number in range(10_000):
        kept.add(b"%06d\n" % number)

    assert len(kept.head) == HEAD
    assert len(kept.tail) == TAIL
    assert kept.left_out == 70_000 - HEAD - TAIL
    assert kept.text.startswith("000000\n")
    assert kept.text.endswith("009999\n")


def test_without_the_extra_there_is_one_sentence(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)

    assert main(["mcp"]) == 2
    assert capsys.readouterr().err.endswith("[missing-extra]\n")
