from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import bad_values, data
from torchwhy.detect.views.nonfinite.birth_facts import finding_from
from torchwhy.detect.views.nonfinite.origins import is_about_weights, sources, where_it_went, word
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import ArrayWarning, Birth
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

# What NumPy's warnings say, by what it then puts into the array.
WARNINGS_OF = {
    "nan": ("invalid value",),
    "inf": ("divide by zero", "overflow"),
    "-inf": ("divide by zero", "overflow"),
}


class NonfiniteData(Detector):
    """The data that came into the program already held a NaN or an infinity."""

    name = "nonfinite-data"
    needs = frozenset({"birth", "batches", "array-warnings"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for birth in sources(trace, "batch", "array"):
            if not is_about_weights(trace, birth):
                yield self._finding(trace, birth)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from bad_values.numpy_in_domain(finding, source)
        yield from data.cleaned_batch(finding, source)
        yield from bad_values.skip_bad_batch(finding, source)

    def _finding(self, trace: Trace, birth: Birth) -> Finding:
        value, what, went = word(birth.value), _what(birth), where_it_went(birth)
        warning = _warning_before(trace, birth)
        message = f"{what} held {value} when it came into the program{_where_inside(birth)}; it went into {went}"
        evidence = [
            Evidence(
                f"{value} was there before any torch operation", value=birth.value, step=birth.step
            )
        ]
        if warning is not None:
            message = (
                f"NumPy computed {value} here ({warning.message}), and {what} brought it to {went}"
            )
            evidence.append(
                Evidence(
                    f"NumPy warned: {warning.message}", step=warning.step, location=warning.location
                )
            )
            evidence.append(
                Evidence(
                    "this is where it came into torch", step=birth.step, location=birth.location
                )
            )
        title = f"clean or drop the bad entries of {what} before training, for example where `torch.isfinite` is False"
        found = finding_from(trace, birth, detector=self.name, message=message, evidence=evidence)
        location = birth.location if warning is None else warning.location
        return replace(found, location=location, fixes=(Fix(title, safety="show-only"),))


def _what(birth: Birth) -> str:
    """Return which tensor it was: `batch["image"]`, `x`, `the array`."""
    if birth.field:
        return f"`{birth.field}`"
    if birth.origin_name:
        return f"`{birth.origin_name}`"
    return "the batch" if birth.origin == "batch" else "the array"


def _where_inside(birth: Birth) -> str:
    """Return sample, dataset index and column, as far as they are known."""
    parts = []
    if birth.positions:
        parts.append(f"sample {birth.positions[0]}")
    if birth.dataset_indices:
        parts.append(f"dataset index {birth.dataset_indices[0]}")
    index = (birth.output.first_bad_index if birth.output else None) or []
    inside = index[1:] if birth.positions else index
    if len(inside) == 1 and birth.positions:
        parts.append(f"column {inside[0]}")
    elif inside:
        parts.append(f"element {inside}")
    return f" ({', '.join(parts)})" if parts else ""


def _warning_before(trace: Trace, birth: Birth) -> ArrayWarning | None:
    """Return NumPy's own word about such a value, if it gave one before the value was used."""
    for source in (trace.rerun, trace):
        for warning in source.of(ArrayWarning) if source else []:
            fits = any(text in warning.message for text in WARNINGS_OF.get(str(birth.value), ()))
            if fits and warning.step <= birth.step:
                return warning
    return None
