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
    if falls is None or not falls.was_made:
        return False
    if falls.answer == "no" or falls.measured is None:
        return falls.answer == "no"
    facts = falls.measured.facts()
    first, last = facts.get("first"), facts.get("last")
    return isinstance(first, float) and isinstance(last, float) and last >= first


def offer_check(report: Report, run: Run, *, wanted: bool, stream: IO[str] | None) -> None:
    """Print how to check the program, or check it if that is `wanted`."""
    if not has_not_learned(report) or ending.received is not None:
        return
    if wanted:
        from torchwhy.commands.checking import check
        from torchwhy.commands.checkup import DEFAULT_LIMIT_SECONDS

        check(list(run.command), limit_seconds=DEFAULT_LIMIT_SECONDS, stream=stream)
    elif stream is not None:
        command = printable(shlex.join(masked_command(run.command)))
        stream.write(f"  To ask by experiment why it does not learn: torchwhy check {command}\n")
