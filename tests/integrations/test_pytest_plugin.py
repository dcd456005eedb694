"""`pytest --torchwhy` over a folder of tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from torchwhy import load

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
    commands = {load(run).command[2].partition("::")[2] for run in runs}
    assert commands == {"test_healthy", "test_broken", "test_stale", "test_dies"}
