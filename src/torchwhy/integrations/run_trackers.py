"""Tells findings to the experiment tracker of a run: the root cause as text, its step, and where the report is.

Trackers are recognised in a process that has imported them; none is imported here. What a tracker raises stays here.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from torchwhy.integrations.shown_report import ShownReport

TAG = "torchwhy"


class Tracker(Protocol):
    """Something that keeps texts of a run."""

    run: Any  # what identifies it

    def tell(self, report: ShownReport, step: int | None) -> None: ...


class TensorBoard:
    """A `SummaryWriter`, which opens its file again if it was closed."""

    def __init__(self, writer: Any) -> None:
        self.run = writer

    def tell(self, report: ShownReport, step: int | None) -> None:
        """Add the finding to the tab of texts, which shows Markdown."""
        with suppress(Exception):
            self.run.add_text(TAG, f"{_message(report)}\n\n{_link(report)}", global_step=step)
            self.run.flush()


class WeightsAndBiases:
    """A run of W&B."""

    def __init__(self, run: Any) -> None:
        self.run = run

    def tell(self, report: ShownReport, step: int | None) -> None:
        """Put the finding into the summary, which needs no step of W&B's own, and into the log."""
        facts = {f"{TAG}/finding": _message(report), f"{TAG}/report": _link(report)}
        if step is not None:
            facts[f"{TAG}/global_step"] = step  # type: ignore[assignment]
        with suppress(Exception):
            self.run.log(facts)
        with suppress(Exception):
            self.run.summary.update(facts)


class MLflow:
    """A run of MLflow, which takes texts after its end as well."""

    def __init__(self, client: Any, run_id: str) -> None:
        self.run = run_id
        self._client = client

    def tell(self, report: ShownReport, step: int | None) -> None:
        """Keep the finding as a text of the run, and its name as a tag to filter by."""
        assert report.root_cause is not None
        text = f"{_message(report)}\n\nglobal step: {step}\n{_link(report)}\n"
        with suppress(Exception):
            self._client.log_text(self.run, text, f"{TAG}.md")
        with suppress(Exception):
            self._client.set_tag(self.run, TAG, report.root_cause.detector)


def active_trackers(*, but: Sequence[Tracker] = ()) -> list[Tracker]:
    """Return the trackers of this process that have a run now."""
    found: list[Tracker] = []
    with suppress(Exception):
        run = sys.modules["wandb"].run
        if run is not None:
            found.append(WeightsAndBiases(run))
    with suppress(Exception):
        mlflow = sys.modules["mlflow"]
        active = mlflow.active_run()
        if active is not None:
            found.append(MLflow(mlflow.MlflowClient(), active.info.run_id))
    known = [one.run for one in but]
    return [one for one in found if one.run not in known]


def tracker_of(logger: Any) -> Tracker | None:
    """Return the tracker behind a logger of Lightning, told by what it can do."""
    held = logger.experiment
    run_id = getattr(logger, "run_id", None)
    if run_id is not None and hasattr(held, "log_text"):
        return MLflow(held, run_id)
    if hasattr(held, "add_text"):
        return TensorBoard(held)
    if hasattr(held, "summary") and hasattr(held, "log"):
        return WeightsAndBiases(held)
    return None


def _message(report: ShownReport) -> str:
    root = report.root_cause
    assert root is not None
    where = "" if root.location is None else f"\n{root.location}"
    notes = "".join(f"\n{note}" for note in report.notes)
    return f"{root.message} [{root.detector}]{where}{notes}"


def _link(report: ShownReport) -> str:
    """Return the address of the page, which is written now if it can be."""
    from torchwhy.report.page.page_file import PAGE_NAME, page_of, store_page

    folder = report.run_directory.absolute()
    with suppress(Exception):
        if not (folder / PAGE_NAME).exists():
            store_page(folder, page_of(folder, report))
        return _address(folder / PAGE_NAME)
    return _address(folder)


def _address(path: Path) -> str:
    return path.resolve().as_uri()
