"""The further runs of `torchwhy check` with real programs: other seeds, and a start from their own checkpoint."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.guest import SOURCE

# Whether its hidden units are dead depends on one random number; it saves and resumes as its argument says.
PROGRAM = """
import os, sys, torch
from torch import nn
torch.manual_seed({seed})
shift = -100.0 if torch.rand(()) {dead} else 0.0
x = torch.randn(64, 4)
y = (x[:, 0] > 0).float()
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
with torch.no_grad():
    model[0].bias += shift
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.5)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.9)
start = 0
if "--resume" in sys.argv and os.path.exists("last.pt"):
    state = torch.load("last.pt")
    model.load_state_dict(state["model"])
    start = state["epoch"] + 1
    if "half" not in sys.argv:
        optimizer.load_state_dict(state["optimizer"])
        schedule.load_state_dict(state["schedule"])
for epoch in range(start, 8):
    for i in range(0, 64, 8):
        out = model(x[i : i + 8])[:, 0]
        loss = nn.functional.binary_cross_entropy_with_logits(out, y[i : i + 8])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    schedule.step()
    if "--save" in sys.argv or "--resume" in sys.argv:
        state = dict(model=model.state_dict(), optimizer=optimizer.state_dict(), epoch=epoch)
        torch.save(dict(state, schedule=schedule.state_dict()), "last.tmp")
        os.replace("last.tmp", "last.pt")
"""


def checks(folder: Path, *arguments: str, seed: int = 0, dead: str = "> 2") -> dict[str, Any]:
    """Return the answers of `torchwhy check`, by question."""
    (folder / "train.py").write_text(PROGRAM.format(seed=seed, dead=dead))
    environment = dict(os.environ, PYTHONPATH=str(SOURCE), OMP_NUM_THREADS="1")
    words = ["check", "--limit", "500", "--json", "report.json", "train.py", *arguments]
    subprocess.run(
        [sys.executable, "-m", "torchwhy", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        check=True,
        timeout=600,
    )
    report = json.loads((folder / "report.json").read_text())
    assert not (folder / "last.pt").exists()
    return {one["question"]: one for one in report["checks"]}


def test_a_resume_that_restores_half_and_seeds_that_agree(tmp_path):
    asked = checks(tmp_path, "--resume", "half")

    resumed, seeds = asked["resume-restores"], asked["other-seeds"]
    assert resumed["answer"] == "no"
    assert resumed["facts"]["file"] == "last.pt"
    assert (resumed["facts"]["step"], resumed["facts"]["lost_states"]) == (8, 4)
    assert resumed["facts"]["other_weights"] == 0
    assert resumed["facts"]["rate"] == pytest.approx(0.45)
    assert resumed["facts"]["resumed_rate"] == pytest.approx(0.5)
    assert resumed["facts"]["loaded_at"]["line"] == 15
    assert seeds["answer"] == "yes"
    assert len(set(seeds["facts"]["first"])) == 3, "each run had other numbers"


def test_a_whole_resume_passes_and_an_unlucky_seed_is_named(tmp_path):
    asked = checks(tmp_path, "--resume", dead="< 0.45")  # 0.50, 0.10 and 0.68 with the three seeds

    assert asked["resume-restores"]["answer"] == "yes"
    assert asked["other-seeds"]["answer"] == "no"
    assert asked["other-seeds"]["facts"]["unlucky"] == 1
