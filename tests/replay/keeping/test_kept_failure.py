"""What is kept of a failing step: the state before it, from which training goes on, and its batch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tests.replay.keeping.programs import TRAINING, forked, last_run, python, torchwhy
from torchwhy.record.kept.tensor_file import read_tensors


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("failed")
    (folder / "train.py").write_text(TRAINING)

    assert torchwhy("run", "train.py", folder=folder).returncode == 1

    return folder


def report_of(folder: Path) -> dict:
    return json.loads((last_run(folder) / "report.json").read_text())


def test_a_resumed_run_has_the_losses_of_a_run_with_the_fix_from_the_start(failed):
    kept = report_of(failed)["kept"]
    fixed = forked("train.py", failed, FIX="1").splitlines()

    resumed = forked(
        "train.py", failed, FIX="1", RESUME=kept["state"], LINES="\n".join(kept["load"])
    )

    assert 0 < kept["step"] < len(fixed) - 1
    assert len(kept["load"]) == 3
    assert resumed.splitlines() == fixed[kept["step"] :]


def test_the_batch_is_as_the_loader_gave_it(failed):
    kept = report_of(failed)["kept"]

    tensors, metadata = read_tensors(failed / kept["batch"], 2**20)

    (rows,) = json.loads(metadata["rows"])
    (structure,) = json.loads(metadata["batches"])
    names = [one["tensor"] for one in structure["list"]]
    bad = rows.index(77)
    assert [tensors[name].shape for name in names] == [(16, 4), (16, 1)]
    assert tensors[names[0]].rows([bad]).content == bytes(16)
    assert tensors[names[0]].content != bytes(16 * 16)


def test_the_page_and_the_terminal_tell_how_to_go_on(failed):
    shown = torchwhy("report", folder=failed).stdout
    torchwhy("report", "-f", "html", "-o", "page.html", folder=failed)
    page = (failed / "page.html").read_text()

    for line in report_of(failed)["kept"]["load"]:
        assert line in shown
    assert "state.pt" in page
    assert "batch.safetensors" in page


def test_nothing_is_kept_if_the_user_says_so(failed, tmp_path):
    (tmp_path / "train.py").write_text(TRAINING)

    shown = torchwhy("run", "--keep-state", "1KB", "--no-data", "train.py", folder=tmp_path).stderr

    assert "is not kept: it takes" in shown
    assert list(last_run(tmp_path).glob("*.pt")) == []
    assert list(last_run(tmp_path).glob("*.safetensors")) == []


def test_the_state_has_only_what_a_careful_load_reads(failed):
    state = torch.load(last_run(failed) / "state.pt", weights_only=True)

    assert set(state["parts"]) == {"model", "optimizer", "scheduler"}
    assert int(state["parts"]["model"]["body.1.num_batches_tracked"]) == state["step"]
    assert set(state["random"]) >= {"torch", "python"}


def test_the_failing_step_is_repeated_alone(failed):
    made = torchwhy("repro", "-o", "alone", folder=failed)

    assert made.returncode == 0, made.stderr
    assert "2 of 16 samples, without the optimizer" in made.stdout  # BatchNorm takes no single one
    assert sorted(path.name for path in (failed / "alone").iterdir()) == ["repro.py", "step.pt"]
    assert "DataLoader" not in (failed / "alone" / "repro.py").read_text()
    told = python("alone/repro.py", folder=failed)
    assert "that are not finite: body.0.weight" in told.stdout, told.stderr
    assert "not finite: none" in forked("alone/repro.py", failed, FIX="1")


def test_a_folder_with_files_is_left_alone(failed):
    (failed / "full").mkdir()
    (failed / "full" / "notes.txt").write_text("mine")

    refused = torchwhy("repro", "-o", "full", folder=failed)

    assert refused.returncode == 2
    assert "[folder-not-empty]" in refused.stderr
    assert [path.name for path in (failed / "full").iterdir()] == ["notes.txt"]
