"""The callbacks inside the real frameworks, where they are installed."""

from __future__ import annotations

import re
import subprocess
import sys
import traceback
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

import torchwhy

pytestmark = pytest.mark.filterwarnings("default")  # the frameworks warn of this and that

OWN_FOLDER = str(Path(torchwhy.__file__).parent)
BROKEN_ROW = 9


def rows(*, breaks: bool = True) -> TensorDataset:
    torch.manual_seed(0)
    values = torch.randn(16, 4)
    if breaks:
        values[BROKEN_ROW] = 0
    return TensorDataset(values, torch.randn(16, 1))


def loss_of(model: torch.nn.Module, batch) -> torch.Tensor:
    x, y = batch
    return (model(x / x.norm(dim=1, keepdim=True)) - y).pow(2).mean()


def frames_of(error: BaseException) -> list[str]:
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]


def note_of(report: torchwhy.Report) -> str:
    return next((note for note in report.notes if " counts step " in note), "")


class TestLightning:
    @pytest.fixture
    def lightning(self):
        return pytest.importorskip("lightning.pytorch")

    def fit(self, lightning, data, *, width: int = 4, **options):
        from torchwhy.integrations.lightning import Why

        class Net(lightning.LightningModule):
            def __init__(self) -> None:
                super().__init__()
                self.layer = torch.nn.Linear(width, 1)

            def training_step(self, batch):
                return loss_of(self.layer, batch)

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=0.01)

        why = Why(quiet=True)
        quiet = {"enable_progress_bar": False, "enable_model_summary": False}
        off = {"logger": False, "enable_checkpointing": False, "accelerator": "cpu"}
        trainer = lightning.Trainer(
            max_epochs=2,
            callbacks=[why, *options.pop("callbacks", [])],
            **{**quiet, **off, **options},
        )
        error = None
        try:
            trainer.fit(Net(), DataLoader(data, batch_size=4))
        except Exception as problem:
            error = problem
        return why, trainer, error

    def test_a_failure_is_explained_and_counted_as_lightning_counts(self, lightning):
        ended = []

        class Other(lightning.Callback):
            def on_exception(self, trainer, pl_module, exception):
                ended.append(exception)

        why, trainer, error = self.fit(lightning, rows(), callbacks=[Other()])

        root = why.report.root_cause
        assert type(error) is torchwhy.TrainingBroke
        assert error.report is why.report
        assert (root.detector, root.step, root.sample.dataset_index) == ("division-by-zero", 2, 9)
        assert note_of(why.report) == (
            "Lightning counts step 2 as global step 2: batch 2 of epoch 0, both counted from 0."
        )
        assert not [name for name in frames_of(error) if name.startswith(OWN_FOLDER)]
        assert ended == [error]
        assert trainer.state.status == "interrupted"

    def test_a_healthy_training_is_silent(self, lightning):
        why, _, error = self.fit(lightning, rows(breaks=False))

        assert error is None
        assert (why.report.outcome, why.report.steps) == ("healthy", 8)
        assert note_of(why.report) == ""

    def test_an_exception_keeps_its_type(self, lightning):
        why, _, error = self.fit(lightning, rows(breaks=False), width=5)

        assert type(error) is RuntimeError
        assert why.report.root_cause.detector == "linear-size-mismatch"
        assert not [name for name in frames_of(error) if name.startswith(OWN_FOLDER)]

    def test_findings_go_to_the_logger(self, lightning, tmp_path):
        class Experiment:
            def __init__(self) -> None:
                self.told = []

            def add_text(self, *args, **kwargs) -> None:
                self.told.append((args, kwargs))

            def flush(self) -> None: ...

        class Kept(lightning.loggers.Logger):
            name, version, experiment = "kept", 0, Experiment()

            def log_metrics(self, metrics, step=None) -> None: ...

            def log_hyperparams(self, params, *args, **kwargs) -> None: ...

        self.fit(lightning, rows(), logger=Kept())

        (((tag, text), options),) = Kept.experiment.told
        assert (tag, options) == ("torchwhy", {"global_step": 2})
        assert "divides by zero" in text
        (page,) = re.findall(r"file://(\S+report\.html)", text)
        assert "division-by-zero" in Path(page).read_text(encoding="utf8")


class TestTransformers:
    @pytest.fixture
    def transformers(self):
        pytest.importorskip("accelerate")
        return pytest.importorskip("transformers")

    def train(self, transformers, data, *, closely: bool = False, **options):
        from torchwhy.integrations.huggingface import Why

        class Net(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.layer = torch.nn.Linear(4, 1)

            def forward(self, x, y):
                return {"loss": loss_of(self.layer, (x, y))}

        class Named(Dataset):
            def __len__(self) -> int:
                return len(data)

            def __getitem__(self, index: int):
                return dict(zip(("x", "y"), data[index], strict=True))

        why = Why(quiet=True, closely=closely)
        quiet = {"report_to": [], "save_strategy": "no", "disable_tqdm": True, "use_cpu": True}
        arguments = transformers.TrainingArguments(
            "out", per_device_train_batch_size=4, num_train_epochs=2, **{**quiet, **options}
        )
        trainer = transformers.Trainer(Net(), arguments, train_dataset=Named(), callbacks=[why])
        error = None
        try:
            trainer.train()
        except Exception as problem:
            error = problem
        return why, error

    def test_a_failure_is_explained_and_counted_as_transformers_counts(self, transformers):
        why, error = self.train(transformers, rows(), seed=1, closely=True)

        root = why.report.root_cause
        assert type(error) is torchwhy.TrainingBroke
        assert error.report is why.report
        assert root.detector == "division-by-zero"
        assert note_of(why.report) == (
            f"Transformers counts step {root.step} as global step {root.step}: "
            f"batch {root.step} of epoch 0, both counted from 0."
        )
        assert not [name for name in frames_of(error) if name.startswith(OWN_FOLDER)]

    def test_a_loader_that_fetches_ahead_needs_a_close_look(self, transformers):
        why, error = self.train(transformers, rows(), seed=1)

        assert type(error) is torchwhy.TrainingBroke
        if why.report.root_cause.detector != "division-by-zero":
            assert "train again with `Why(closely=True)`" in " ".join(why.report.notes)

    def test_accumulated_batches_are_counted(self, transformers):
        why, _ = self.train(transformers, rows(), gradient_accumulation_steps=2, seed=1)

        found = re.search(r"global step (\d): batch (\d) of epoch 0", note_of(why.report))
        assert int(found[2]) == 2 * int(found[1])

    def test_a_healthy_training_is_silent(self, transformers):
        why, error = self.train(transformers, rows(breaks=False))

        assert error is None
        assert (why.report.outcome, why.report.steps) == ("healthy", 8)

    def test_an_exception_keeps_its_type(self, transformers):
        wide = TensorDataset(torch.randn(16, 5), torch.randn(16, 1))

        why, error = self.train(transformers, wide)

        assert type(error) is RuntimeError
        assert why.report.root_cause.detector == "linear-size-mismatch"
        assert not [name for name in frames_of(error) if name.startswith(OWN_FOLDER)]


class TestIgnite:
    @pytest.fixture
    def engine_kind(self):
        return pytest.importorskip("ignite.engine").Engine

    def run(self, engine_kind, data, *, width: int = 4, **options):
        from torchwhy.integrations.ignite import attach

        model = torch.nn.Linear(width, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

        def update(engine, batch) -> None:
            optimizer.zero_grad()
            loss_of(model, batch).backward()
            optimizer.step()

        engine = engine_kind(update)
        why = attach(engine, quiet=True, **options)
        error = None
        try:
            engine.run(DataLoader(data, batch_size=4), max_epochs=2)
        except BaseException as problem:
            error = problem
        return why, error

    def test_a_failure_is_explained_and_counted_as_ignite_counts(self, engine_kind):
        why, error = self.run(engine_kind, rows())

        root = why.report.root_cause
        assert type(error) is torchwhy.TrainingBroke
        assert error.report is why.report
        assert (root.detector, root.step, root.sample.dataset_index) == ("division-by-zero", 2, 9)
        assert note_of(why.report) == (
            "Ignite counts step 2 as iteration 3: batch 3 of epoch 1, both counted from 1."
        )
        assert not [name for name in frames_of(error) if name.startswith(OWN_FOLDER)]

    def test_a_healthy_training_is_silent(self, engine_kind):
        why, error = self.run(engine_kind, rows(breaks=False))

        assert error is None
        assert (why.report.outcome, why.report.steps) == ("healthy", 8)

    def test_an_exception_keeps_its_type(self, engine_kind):
        why, error = self.run(engine_kind, rows(breaks=False), width=5)

        assert type(error) is RuntimeError
        assert why.report.root_cause.detector == "linear-size-mismatch"


@pytest.mark.parametrize("name", ["lightning", "huggingface", "ignite"])
def test_a_framework_that_is_missing_is_named(name):
    code = (
        "import sys\n"
        "for one in ('lightning', 'pytorch_lightning', 'transformers', 'ignite'): sys.modules[one] = None\n"
        f"import torchwhy.integrations.{name}\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert "is not installed: `pip install" in done.stderr.splitlines()[-1]
    assert "[missing-extra]" in done.stderr


def test_torchwhy_imports_no_framework():
    code = (
        "import sys, torchwhy; torchwhy.watch, torchwhy.load; import torchwhy.integrations.framework_block;"
        "print([one for one in ('lightning', 'transformers', 'ignite', 'wandb', 'mlflow') if one in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
