"""Findings in the trackers of a run, each as its own interface wants them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.report import examples
from torchwhy.integrations.framework_block import Position, Positions
from torchwhy.integrations.run_trackers import (
    MLflow,
    TensorBoard,
    WeightsAndBiases,
    active_trackers,
    tracker_of,
)
from torchwhy.integrations.shown_report import ShownReport


@pytest.fixture
def report(tmp_path):
    return ShownReport.of(examples.report(), tmp_path / "run", tmp_path)


class FakeRun:
    def __init__(self) -> None:
        self.logged, self.summary = [], {}

    def log(self, facts) -> None:
        self.logged.append(facts)


class FakeClient:
    def __init__(self) -> None:
        self.texts, self.tags = [], []

    def log_text(self, *args) -> None:
        self.texts.append(args)

    def set_tag(self, *args) -> None:
        self.tags.append(args)


class Broken:
    summary = None

    def __getattr__(self, name):
        raise ConnectionError("the server is down")


def test_wandb_gets_text_step_and_link(report):
    run = FakeRun()

    WeightsAndBiases(run).tell(report, 412)

    (facts,) = run.logged
    assert report.root_cause.message in facts["torchwhy/finding"]
    assert facts["torchwhy/global_step"] == 412
    assert facts["torchwhy/report"].startswith("file://")
    assert run.summary == facts


def test_mlflow_gets_a_text_and_a_tag(report):
    client = FakeClient()

    MLflow(client, "abc").tell(report, 412)

    ((run_id, text, name),) = client.texts
    assert (run_id, name) == ("abc", "torchwhy.md")
    assert report.root_cause.message in text
    assert "global step: 412" in text
    assert client.tags == [("abc", "torchwhy", report.root_cause.detector)]


@pytest.mark.parametrize(
    "tracker", [TensorBoard(Broken()), WeightsAndBiases(Broken()), MLflow(Broken(), "abc")]
)
def test_a_tracker_that_fails_is_passed_over(report, tracker):
    tracker.tell(report, None)


def test_active_runs_are_found_without_an_import(monkeypatch):
    monkeypatch.delitem(sys.modules, "mlflow", raising=False)
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(run=None))
    assert active_trackers() == []

    run = FakeRun()
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(run=run))
    active = SimpleNamespace(info=SimpleNamespace(run_id="abc"))
    mlflow = SimpleNamespace(active_run=lambda: active, MlflowClient=FakeClient)
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)

    assert [type(one) for one in active_trackers()] == [WeightsAndBiases, MLflow]
    assert active_trackers(but=[WeightsAndBiases(run), MLflow(FakeClient(), "abc")]) == []


def test_loggers_of_lightning_are_told_by_what_they_can_do():
    writer = SimpleNamespace(add_text=print)

    assert isinstance(tracker_of(SimpleNamespace(experiment=writer)), TensorBoard)
    assert isinstance(tracker_of(SimpleNamespace(experiment=FakeRun())), WeightsAndBiases)
    mlflow = SimpleNamespace(experiment=FakeClient(), run_id="abc")
    assert isinstance(tracker_of(mlflow), MLflow)
    assert tracker_of(SimpleNamespace(experiment=Path())) is None


def test_tensorboard_itself_takes_the_text(report, tmp_path):
    board = pytest.importorskip("torch.utils.tensorboard")
    writer = board.SummaryWriter(str(tmp_path / "board"))
    writer.close()  # as at the end of training

    TensorBoard(writer).tell(report, 412)

    files = [one.read_bytes() for one in (tmp_path / "board").iterdir()]
    assert any(report.root_cause.message.encode() in one for one in files)


def test_positions_are_told_only_where_they_are_certain():
    positions = Positions()
    for step in range(4):
        positions.note(step, Position(0, step, 100 + step))
    for batch in range(6):  # two batches for each step
        positions.note(4 + batch // 2, Position(1, batch, 104 + batch // 2))

    assert positions.at(2) == Position(0, 2, 102)
    assert positions.at(6) == Position(1, 4, 106)
    assert positions.at(5) is None
    assert positions.at(9) is None
