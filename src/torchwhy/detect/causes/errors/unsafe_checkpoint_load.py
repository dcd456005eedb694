from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.everyday import checkpoint_loading
from torchwhy.detect.rules.message_kinds import UnsafeLoad
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

SEPARATOR = ", "
NUMPY = "numpy."
DANGER = (
    "only if you trust whoever made the file: pass `weights_only=False`, which lets the file run any code while it is "
    "loaded"
)


class MoreThanWeights(Diagnosis):
    """A checkpoint contains objects of classes that `torch.load` does not allow."""

    expression: str
    file: str | None
    refused: list[str]  # by full names, `__main__.Config`
    message = (
        "`{expression}` refuses {what}, because it contains {contents}: since torch 2.6, `torch.load` reads "
        "only tensors and plain Python values (`weights_only=True`)"
    )

    @property
    def what(self) -> str:
        """Return the file."""
        return self.file if self.file is not None else "the file"

    @property
    def contents(self) -> str:
        """Return what the file contains besides weights."""
        names = " and ".join(f"`{name}`" for name in self.refused[:2])
        more = f" and {len(self.refused) - 2} more" if len(self.refused) > 2 else ""
        return f"{names}{more}" if names else "more than weights"

    @property
    def remedies(self) -> tuple[str, ...]:
        names = [name.removeprefix(f"{checkpoint_loading.MAIN}.") for name in self.refused]
        allow = f"torch.serialization.add_safe_globals([{SEPARATOR.join(names)}])"
        save = "save only tensors and plain values: `state_dict()` of the model, numbers, strings, lists and dicts"
        if any(name.startswith(NUMPY) for name in self.refused):
            save = "save numbers of Python instead of NumPy's: `float(best)`, `array.tolist()`"
        if not names:
            return save, DANGER
        return f"allow what you know, before loading: `{allow}`", save, DANGER

    def evidence(self) -> Iterator[Evidence]:
        if len(self.refused) > 2:
            yield Evidence(f"not allowed: {SEPARATOR.join(self.refused)}")


class UnsafeCheckpointLoad(Detector):
    """`torch.load` refuses a checkpoint that contains more than weights."""

    name = "unsafe-checkpoint-load"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if isinstance(crash.said, UnsafeLoad):
                yield crash.finding(self.name, _diagnosed(crash, crash.said))

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        if isinstance(finding.diagnosis, MoreThanWeights):
            yield from checkpoint_loading.allowed_classes(
                finding.location, source, refused=finding.diagnosis.refused
            )


def _diagnosed(crash: CrashView, said: UnsafeLoad) -> MoreThanWeights:
    listed = [name for name in (crash.fact("refused_globals") or "").split(SEPARATOR) if name]
    first = [said.refused.rstrip(".")] if said.refused is not None else []
    return MoreThanWeights(
        expression=crash.expression, file=crash.fact("checkpoint"), refused=listed or first
    )
