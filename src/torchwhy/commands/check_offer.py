"""After a run that ended without having learned: offers `torchwhy check`, or does it."""

from __future__ import annotations

import shlex
from typing import IO

from torchwhy.detect.checks.standing_questions import FALLS
from torchwhy.observe.ending_signals import ending
from torchwhy.printable import printable
from torchwhy.record.run_file import Run
from torchwhy.record.secrets import masked_command
from torchwhy.report.model import Report


def has_not_learned(report: Report) -> bool:
    """Tell whether the loss, as far as it measures progress, did not fall."""
    falls = next((one for one in report.checks if one.question == FALLS.question), None)
    if falls is None or falls.answer == "no" or falls.measured is None:
        return falls is not None and falls.answer == "no"
    facts = falls.measured.facts()
    first, last = facts.get("first"), facts.get("last")
    return isinstance(first, float) and isinstance(last, float) and last >= first


def offered_check(report: Report, run: Run) -> list[str]:
    """Return how to check the program, if that may help."""
    if not has_not_learned(report) or ending.received is not None:
        return []
    command = printable(shlex.join(masked_command(run.command)))
    return [f"torchwhy check {command} (asks by experiment whether it can learn)"]


def check_if_wanted(
    report: Report, run: Run, *, wanted: bool, stream: IO[str] | None, keeps_data: bool
) -> None:
    """Check the program if that is `wanted` and may help; else print how, unless the report has said so."""
    offer = offered_check(report, run)
    if offer and wanted:
        from torchwhy.commands.checking import check
        from torchwhy.commands.checkup import DEFAULT_LIMIT_SECONDS

        limit = DEFAULT_LIMIT_SECONDS
        check(
            list(run.command),
            limit_seconds=limit,
            stream=stream,
            keeps_data=keeps_data,
            allow=run.allow,
        )
    elif offer and stream is not None and report.root_cause is None:
        stream.write(f"next: {offer[0]}\n")
