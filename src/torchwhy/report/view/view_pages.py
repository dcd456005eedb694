"""The list of runs and the page of a running program, as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from torchwhy.plain_data import dataclass
from torchwhy.record.run_file import known_secrets
from torchwhy.report.page.page_render import environment_of, own_file, policy, trusted

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class RunShown:
    """One run in the list; `outcome` is `running` until the run has ended."""

    name: str
    command: str
    when: str
    outcome: str
    headline: str
    steps: int | None = None


def list_page(runs: Sequence[RunShown], folder: str) -> str:
    """Return the list of runs, in the given order."""
    return _rendered("runs.html.j2", runs=runs, folder=folder)


def live_page(run: RunShown) -> str:
    """Return the page that follows a running program."""
    return _rendered("live.html.j2", "live.js", run=run)


def _rendered(template: str, script: str | None = None, **values: object) -> str:
    code = None if script is None else (TEMPLATES / script).read_text(encoding="utf8")
    environment = environment_of(known_secrets(), TEMPLATES)
    return environment.get_template(template).render(
        style=trusted(own_file("page.css")),
        script=None if code is None else trusted(code),
        policy=policy([] if code is None else [code], connects=code is not None),
        **values,
    )
