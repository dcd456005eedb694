from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import bad_values, data
from torchwhy.detect.views.nonfinite.birth_facts import finding_from
from torchwhy.detect.views.nonfinite.origins import (
    Spoiled,
    is_about_weights,
    sources,
    where_it_went,
    word,
)
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.events import ArrayWarning, Birth
from torchwhy.record.numbers import Real
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

# The warnings that NumPy gives when it writes such a value into an array.
WARNINGS_OF = {
    "nan": ("invalid value",),
    "inf": ("divide by zero", "overflow"),
    "-inf": ("divide by zero", "overflow"),
}


DIVIDED = (
    "keep the divisor above 0, `np.maximum(divisor, 1e-8)`, or leave out what it is 0 for: the standard deviation of a "
    "column of equal values is 0"
)
# Remedies by the function in NumPy's warning.
IN_DOMAIN = {
    "divide": DIVIDED,
    "true_divide": DIVIDED,
    "scalar divide": DIVIDED,
    "log": "take the logarithm of positive numbers only: `np.log(np.maximum(x, 1e-8))`, or `np.log1p(x)` for counts",
    "sqrt": "take the root of numbers that are not negative: `np.sqrt(np.maximum(x, 0))`",
}


class BadData(Diagnosis):
    """A data tensor was not finite when it entered the program.

    `element` is the index of the first bad element, without the sample dimension if the sample is known.
    """

    name: str | None
    is_batch: bool
    value: Real
    went_into: Spoiled
    sample: int | None
    row: int | None
    rows_of: str | None
    element: list[int]
    step: int
    message = "{tensor} contained {what} when it entered the program{where}; it reached {went_into}"
    headline = "{tensor} contained {what} when it entered the program"
    advice = "clean or drop the bad entries of {tensor} before training: those where `torch.isfinite` is False"

    @property
    def tensor(self) -> str:
        if self.name:
            return f"`{self.name}`"
        return "the batch" if self.is_batch else "the array"

    @property
    def what(self) -> str:
        return word(self.value)

    @property
    def where(self) -> str:
        """Return the sample, dataset index and column, as far as known."""
        parts = []
        if self.sample is not None:
            parts.append(f"sample {self.sample}")
        if self.row is not None:
            of_tensor = f"row {self.row} of `{self.rows_of}`"
            parts.append(of_tensor if self.rows_of else f"dataset index {self.row}")
        if len(self.element) == 1 and self.sample is not None:
            parts.append(f"column {self.element[0]}")
        elif self.element:
            parts.append(f"element {self.element}")
        return f" ({', '.join(parts)})" if parts else ""

    def evidence(self) -> Iterator[Evidence]:
        claim = f"the {self.what} was there before any torch operation"
        yield Evidence(claim, value=self.value, step=self.step)


class ComputedByNumpy(BadData):
    """NumPy computed the value and warned about it; `warning` is its text."""

    warning: str
    warned_at: SourceSpan
    warned_step: int
    entered_at: SourceSpan | None
    message = "NumPy computed {what} here ({warning}); through {tensor} it reached {went_into}"
    headline = "NumPy computed {what} here ({warning})"

    @property
    def remedies(self) -> tuple[str, ...]:
        """Return what keeps the operand in the domain of the function that NumPy names."""
        function = self.warning.rpartition("encountered in ")[2]
        return (IN_DOMAIN.get(function, str(self.advice).replace("{tensor}", self.tensor)),)

    def evidence(self) -> Iterator[Evidence]:
        yield from super().evidence()
        claim = f"NumPy warned: {self.warning}"
        yield Evidence(claim, step=self.warned_step, location=self.warned_at)
        yield Evidence("it entered torch here", step=self.step, location=self.entered_at)


class NonfiniteData(Detector):
    """The data that entered the program already contained a NaN or an infinity."""

    name = "nonfinite-data"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for birth in sources(trace, "batch", "array"):
            if not is_about_weights(trace, birth):
                yield self._finding(trace, birth)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from bad_values.numpy_in_domain(finding.location, source)
        match finding.diagnosis:
            case BadData(name=name):
                yield from data.cleaned_batch(finding.location, source, held_by=name or "")
        yield from bad_values.skip_bad_batch(finding.location, source)

    def _finding(self, trace: Trace, birth: Birth) -> Finding:
        index = (birth.output.first_bad_index if birth.output else None) or []
        diagnosis = BadData(
            name=birth.field or birth.origin_name,
            is_batch=birth.origin == "batch",
            value=birth.value,
            went_into=where_it_went(birth),
            sample=birth.positions[0] if birth.positions else None,
            row=birth.dataset_indices[0] if birth.dataset_indices else None,
            rows_of=birth.rows_of,
            element=index[1:] if birth.positions else index,
            step=birth.step,
        )
        warning = _warning_before(trace, birth)
        if warning is not None:
            diagnosis = ComputedByNumpy(
                **vars(diagnosis),
                warning=warning.message,
                warned_at=warning.location,
                warned_step=warning.step,
                entered_at=birth.location,
            )
        location = birth.location if warning is None else warning.location
        return finding_from(
            trace, birth, detector=self.name, diagnosis=diagnosis, location=location
        )


def _warning_before(trace: Trace, birth: Birth) -> ArrayWarning | None:
    """Return NumPy's warning about such a value, if it came before the value was used."""
    for source in (trace.rerun, trace):
        for warning in source.of(ArrayWarning) if source else []:
            fits = any(text in warning.message for text in WARNINGS_OF.get(str(birth.value), ()))
            if fits and warning.step <= birth.step:
                return warning
    return None
