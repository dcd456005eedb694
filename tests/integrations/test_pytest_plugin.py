"""`pytest --torchwhy` over a folder of tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from torchwhy import load
from torchwhy.confine.trackers import repeated_environment

SOURCE = str(Path(__file__).resolve().parents[2] / "src")
TESTS = """\
import torch

def train(rows, *, clears=True):
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    for epoch in range(10):
        for x in rows.split(4):
            if clears:
                optimizer.zero_grad()
            (model(x / x.norm(dim=1, keepdim=True)) - 1).pow(2).mean().backward()
            optimizer.step()
    return model

def test_healthy():
    train(torch.ones(16, 4))

def test_broken():
    train(torch.cat([torch.ones(8, 4), torch.zeros(8, 4)]))

def test_stale():
    train(torch.ones(16, 4), clears=False)

def test_dies():
    train(torch.ones(16, 4))(torch.ones(2, 3))

def test_of_something_else():
    assert 1 + 1 == 2
"""


def test_findings_are_the_messages_of_tests(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS, encoding="utf8")
    plugin = "torchwhy.integrations.pytest_plugin"
    # The plugin may be installed, too, under its entry point's name.
    command = [sys.executable, "-m", "pytest", "-p", "no:torchwhy", "-p", plugin, "--torchwhy"]
    environment = {**os.environ, "PYTHONPATH": SOURCE, "OMP_NUM_THREADS": "1"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"

    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )

    assert "2 failed, 3 passed" in done.stdout, done.stdout
    assert "divides by zero" in done.stdout
    assert "test_it.py:11 in train" in done.stdout
    assert "linear-size-mismatch" in done.stdout
    assert "TorchwhyWarning" in done.stdout
    assert "[missing-zero-grad]" in done.stdout
    assert "dispatch_mode.py" not in done.stdout
    assert "block.py" not in done.stdout
    assert "another exception" not in done.stdout
    runs = sorted((tmp_path / ".torchwhy" / "runs").iterdir())
    reports = [load(run) for run in runs]
    commands = {report.command[2].partition("::")[2] for report in reports}
    assert commands == {"test_healthy", "test_broken", "test_stale", "test_dies"}
    roots = {report.command[2].partition("::")[2]: report.root_cause for report in reports}
    assert roots["test_broken"].step == 2  # counted within the test


def test_a_stopped_test_shows_no_frame_of_ours(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS, encoding="utf8")
    command = [sys.executable, "-m", "torchwhy", "run", "-m", "pytest", "-qk", "broken"]
    environment = {**os.environ, "PYTHONPATH": SOURCE, "OMP_NUM_THREADS": "1"}

    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )

    assert "1 failed" in done.stdout, done.stdout
    assert "optimizer.step()" in done.stdout
    assert "torchwhy/observe" not in done.stdout
    assert "Warning" not in done.stdout  # pytest's, about modules that were imported early
    assert "error[division-by-zero]" in done.stderr


def test_repeated_tests_load_the_edited_file(tmp_path, monkeypatch):
    (tmp_path / "test_it.py").write_text("def test_it():\n    assert 1 == 2\n", encoding="utf8")
    (tmp_path / "edited.py").write_text("def test_it():\n    assert 2 == 2\n", encoding="utf8")
    copies = {str(tmp_path / "test_it.py"): str(tmp_path / "edited.py")}
    (tmp_path / "overlay.json").write_text(json.dumps(copies), encoding="utf8")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-q")
    code = (
        "import sys; from torchwhy.observe.boot.overlay import install; import pytest;"
        f"install({str(tmp_path)!r}); sys.exit(pytest.main(['test_it.py']))"
    )
    environment = {**os.environ, **repeated_environment(tmp_path), "PYTHONPATH": SOURCE}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
    )

    assert environment["PYTEST_ADDOPTS"] == "-q --assert=plain"
    assert "1 passed" in done.stdout, done.stdout
