"""A report that shows itself: as text in a terminal, as HTML in a notebook."""

from __future__ import annotations

import io
from dataclasses import fields
from pathlib import Path
from typing import Any

from torchwhy.plain_data import dataclass
from torchwhy.report.model import Report


@dataclass(frozen=True)
class ShownReport(Report):
    """The report of a block, with the directory of its run and the one that its file names are relative to."""

    run_directory: Path = Path()
    directory: Path = Path()

    @classmethod
    def of(cls, report: Report, run_directory: Path, directory: Path) -> ShownReport:
        """Return a report that knows where it comes from."""
        facts = {field.name: getattr(report, field.name) for field in fields(Report)}
        return cls(**facts, run_directory=run_directory, directory=directory)

    def __str__(self) -> str:
        """Return what `torchwhy run` prints."""
        from torchwhy.report.page.page_fragment import as_typed
        from torchwhy.report.text.terminal import Place, show

        text = io.TextIOWrapper(io.BytesIO(), encoding="utf8", newline="")
        show(self, Place(self.run_directory, self.directory), text)
        text.seek(0)
        return as_typed(text.read()).rstrip("\n")

    def _repr_html_(self) -> str:
        from torchwhy.report.page.page_fragment import fragment_of

        return fragment_of(self, self.run_directory, self.directory)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:  # noqa: ARG002 - IPython's signature
        return {"text/plain": str(self), "text/html": self._repr_html_()}
