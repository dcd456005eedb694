"""Programs that fail at a step, and what runs them as a user does."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.children import shared_zygote

# Divides by zero for one row of the dataset, unless FIX is set; RESUME goes on from a kept state.
TRAINING = """
import os
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.3))
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        scale = x.norm(dim=1, keepdim=True)
        if os.environ.get("FIX"):
            scale = scale.clamp(min=1e-6)
        return self.head(self.body(x / scale))


def main():
    x, y = torch.randn(128, 4), torch.randn(128, 1)
    x[77] = 0.0
    draws = torch.Generator().manual_seed(1)
    loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True, generator=draws)
    model = Net(12)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    resume, step = os.environ.get("RESUME"), -1
    for xb, yb in loader:
        step += 1
        if resume:
            state = torch.load(resume, weights_only=True)
            if step < state["step"]:
                continue
            exec(os.environ["LINES"])
            resume = None
        loss = nn.functional.mse_loss(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        print(step, loss.item())


main()
"""


def torchwhy(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return python("-m", "torchwhy", *words, folder=folder)


def python(*words: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TORCHWHY")}
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**kept, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def forked(script: str, folder: Path, **variables: str) -> str:
    """Return what a script prints, without torchwhy, in a process that need not import torch."""
    output = Path(tempfile.mkdtemp(dir=folder, prefix="output-"))
    ended = shared_zygote().run(
        folder / script, directory=folder, output=output, run_directory=None, environment=variables
    )
    assert ended.exit_code == 0, (output / "stderr").read_text()
    return (output / "stdout").read_text()


def last_run(folder: Path) -> Path:
    return max((folder / ".torchwhy" / "runs").iterdir())
