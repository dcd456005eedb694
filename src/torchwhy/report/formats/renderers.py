"""The formats by the name that `torchwhy report -f` takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torchwhy.report.formats.github_annotations import github_annotations
from torchwhy.report.formats.junit import junit
from torchwhy.report.formats.markdown import markdown
from torchwhy.report.formats.sarif import sarif
from torchwhy.report.formats.told import Setting
from torchwhy.report.model import Report

RENDERERS: Mapping[str, Callable[[Report, Setting], str]] = {
    "md": markdown,
    "sarif": sarif,
    "github": github_annotations,
    "junit": junit,
}
