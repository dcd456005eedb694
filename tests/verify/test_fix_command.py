"""`torchwhy fix` from the words typed to the changed file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
inputs = torch.randn(320, 3)
inputs[98] = 0
model = torch.nn.Linear(3, 3, bias=False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for (x,) in DataLoader(TensorDataset(inputs), batch_size=8):
    distance = model(x).pow(2).sum(dim=1)
    loss = (torch.sqrt( distance ) - x.norm(dim=1)).pow(2).mean()  # my loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
open("finished.txt", "a").write("once")
"""

TOO_FEW_OUTPUTS = """import torch

model = torch.nn.Linear(3, 4)
labels = torch.arange(5)
torch.nn.functional.cross_entropy(model(torch.randn(5, 3)), labels).backward()
"""


def torchwhy(folder, *words):
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "100",
    }
    command = [sys.executable, "-m", "torchwhy", *words]
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    """A folder in which `torchwhy run train.py` has run, and then `torchwhy fix`, which takes the last run."""
    folder = tmp_path_factory.mktemp("fix")
    (folder / "train.py").write_text(PROGRAM)
    assert torchwhy(folder, "run", "train.py").returncode == 1
    return folder, torchwhy(folder, "fix")


def report_of(folder):
    (run,) = (folder / ".torchwhy" / "runs").iterdir()
    return json.loads((run / "report.json").read_text())


@pytest.mark.slow
def test_a_fix_is_tried_told_and_stored(workshop):
    folder, done = workshop
    (fix, *_) = report_of(folder)["findings"][0]["fixes"]

    assert done.returncode == 0, done.stderr
    assert "each trial runs your program again" in done.stderr
    assert "tried: cured" in done.stderr
    assert "without it: gradients not finite again at step 12" in done.stderr
    assert report_of(folder)["findings"][0]["certainty"] == "verified"
    assert fix["trial"]["verdict"] == "cured"
    assert fix["trial"]["steps"] == 40
    assert len(fix["trial"]["after_losses"]) == 40
    assert (
        "+    loss = (torch.sqrt( distance + 1e-12 ) - x.norm(dim=1)).pow(2).mean()  # my loss\n"
        in fix["diff"]
    )
    assert (folder / "train.py").read_text() == PROGRAM


@pytest.mark.slow
def test_what_a_trial_writes_is_not_written_into_the_users_directory(workshop):
    folder, done = workshop

    assert "your files stay as they are" in done.stderr
    assert not (folder / "finished.txt").exists()
    assert not list(folder.glob(".torchwhy/runs/*/trials/*/directory"))


@pytest.mark.slow
def test_apply_asks_refuses_a_changed_file_and_writes(workshop):
    folder, _ = workshop
    script = folder / "train.py"

    nobody = torchwhy(folder, "fix", "--apply")
    script.write_text(PROGRAM + "# a later thought\n")
    changed = torchwhy(folder, "fix", "--apply", "--yes")
    retried = torchwhy(folder, "fix")
    after_refusal = script.read_text()
    script.write_text(PROGRAM)
    written = torchwhy(folder, "fix", "--apply", "--yes")

    assert nobody.returncode == 2
    assert "[not-confirmed]" in nobody.stderr
    assert changed.returncode == 2
    assert "train.py has changed since the run" in changed.stderr
    assert "[source-changed]" in changed.stderr
    assert "[source-changed]" in retried.stderr
    assert after_refusal == PROGRAM + "# a later thought\n"
    assert written.returncode == 0
    assert script.read_text() == PROGRAM.replace("( distance )", "( distance + 1e-12 )")


@pytest.mark.slow
def test_no_rerun_shows_the_change_and_tries_nothing(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)

    done = torchwhy(tmp_path, "run", "--fix", "--no-rerun", "train.py")

    assert done.returncode == 1
    assert "not tried" in done.stderr
    assert "--no-rerun forbids" in done.stderr
    assert not list(tmp_path.glob(".torchwhy/runs/*/trials"))
    assert torchwhy(tmp_path, "fix", "--apply", "--yes").stderr.endswith("[no-verified-fix]\n")


def test_apply_takes_no_program(tmp_path):
    done = torchwhy(tmp_path, "fix", "--apply", "train.py")

    assert done.returncode == 2
    assert "[wrong-option]" in done.stderr


@pytest.mark.slow
def test_a_change_that_only_the_diagnosis_tells_is_built_for_a_stored_run(tmp_path):
    (tmp_path / "train.py").write_text(TOO_FEW_OUTPUTS)
    torchwhy(tmp_path, "run", "train.py")

    done = torchwhy(tmp_path, "fix")

    assert "give the last layer 5 outputs" in done.stderr
    assert "+model = torch.nn.Linear(3, 5)" in done.stderr


OPTION = """import argparse, json, os
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.01)
rate = parser.parse_args().lr
if os.path.exists("conf.json"):
    rate = json.load(open("conf.json"))["lr"]
torch.manual_seed(0)
x = torch.randn(256, 16)
y = x @ torch.randn(16, 1)
net = torch.nn.Linear(16, 1)
optimizer = torch.optim.SGD(net.parameters(), lr={given})
for step in range(40):
    loss = torch.nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.slow
def test_a_rate_from_the_command_line_is_lowered_there(tmp_path):
    text = OPTION.replace("{given}", "rate")
    text = text.replace(
        'if os.path.exists("conf.json"):\n    rate = json.load(open("conf.json"))["lr"]\n', ""
    )
    (tmp_path / "train.py").write_text(text)

    done = torchwhy(tmp_path, "fix", "train.py", "--lr", "30")
    (fix, *_) = report_of(tmp_path)["findings"][0]["fixes"]
    applied = torchwhy(tmp_path, "fix", "--apply", "--yes")

    assert fix["trial"]["verdict"] == "cured", done.stderr
    assert fix["diff"] == ""
    assert fix["command"][:2] == ["train.py", "--lr"]
    assert float(fix["command"][2]) < 1
    assert f"run it so: torchwhy run train.py --lr {fix['command'][2]}" in done.stderr
    assert "[no-diff]" in applied.stderr
    assert (tmp_path / "train.py").read_text() == text


@pytest.mark.slow
def test_a_rate_from_a_settings_file_is_lowered_there_and_written_on_request(tmp_path):
    text = OPTION.replace("{given}", 'json.load(open("conf.json"))["lr"]')
    (tmp_path / "train.py").write_text(text)
    (tmp_path / "conf.json").write_text('{"steps": 30, "lr": 30.0}\n')

    done = torchwhy(tmp_path, "fix", "train.py")
    untouched = (tmp_path / "conf.json").read_text()
    (fix, *_) = report_of(tmp_path)["findings"][0]["fixes"]
    applied = torchwhy(tmp_path, "fix", "--apply", "--yes")

    assert fix["trial"]["verdict"] == "cured", done.stderr
    assert untouched == '{"steps": 30, "lr": 30.0}\n'
    assert applied.returncode == 0, applied.stderr
    changed = json.loads((tmp_path / "conf.json").read_text())
    assert changed["lr"] < 1
    assert changed["steps"] == 30
    assert (tmp_path / "train.py").read_text() == text
