"""A layer whose size does not fit its input: whether the layer or the data is wrong, and why."""

from __future__ import annotations

from typing import TypeVar

from torchwhy.detect.views.crash.crash_evidence import Sized
from torchwhy.detect.views.crash.crash_view import CrashView
from torchwhy.detect.views.crash.operand_trials import words_of
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Fix, SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.record.events import Layer


class OtherSize(Diagnosis):
    """The input of a layer has another size than the layer expects."""

    layer: str
    wanted: int
    given: int
    tensor: Sized
    expression: str
    change: str | None  # A change of the tensor with which it fits the layer.
    # The call works if the layer is made for the size of its input, and no earlier input fitted the layer.
    fits_resized: bool
    worked_before: bool  # Earlier inputs fitted the layer, so this one is at fault.

    @property
    def fitting(self) -> str:
        """Return `; x.T fits`, or nothing if no change of the data fits."""
        return f"; {self.change} fits" if self.change is not None else ""

    @property
    def remedies(self) -> tuple[str, ...]:
        if not self.worked_before:
            return ()
        return (
            f"correct the data of this batch, or the code that makes it: earlier batches fitted {self.layer}",
        )


Judged = TypeVar("Judged", bound=OtherSize)


@dataclass(frozen=True)
class Misfit:
    """A layer and its input; `reshapes` are the kinds of trials that change the data instead of the layer."""

    crash: CrashView
    layer: Layer
    reshapes: tuple[str, ...]

    @property
    def fitting_change(self) -> str | None:
        """Return the first change of the data that makes it fit the layer."""
        tried = self.crash.working(*self.reshapes)
        return next((words_of(trial, self.layer) for trial in tried), None)

    @property
    def has_worked(self) -> bool:
        """Tell whether the layer already ran in a step, so that its size fitted then."""
        return self.crash.worked_before(self.layer)

    @property
    def blames_data(self) -> bool:
        """Tell whether the data is more likely wrong than the layer."""
        return self.fitting_change is not None or self.has_worked

    @property
    def location(self) -> SourceSpan | None:
        """Return the constructor to change; None if the failing line is wrong."""
        return None if self.blames_data else self._constructor

    @property
    def _constructor(self) -> SourceSpan | None:
        """Return the layer's constructor call, or the call elsewhere that passes it the size."""
        made, resized = self.layer.made_at, self.crash.trials("resize-layer")
        written = resized[0].location if resized else None
        if written is None or made is None:
            return made
        is_inside = made.file == written.file
        is_inside = is_inside and made.line <= written.line <= (made.end_line or made.line)
        return made if is_inside else written

    def diagnosed(self, kind: type[Judged], *, wanted: int, given: int) -> Judged:
        """Return the diagnosis as an instance of `kind`."""
        return kind(
            layer=self.layer.path,
            wanted=wanted,
            given=given,
            tensor=self.crash.layer_input.sized,
            expression=self.crash.expression,
            change=self.fitting_change,
            fits_resized=bool(self.crash.working("resize-layer")) and not self.has_worked,
            worked_before=self.has_worked,
        )

    def fixes(self, *otherwise: str) -> list[Fix]:
        """Return the trials that worked as fixes; if the data is wrong, those that reshape it come first.

        A layer that earlier inputs fitted keeps its size.
        """
        names = (*self.reshapes, "resize-layer") if self.blames_data else otherwise
        if self.has_worked:
            names = tuple(name for name in names if name != "resize-layer")
        return self.crash.fixes(*names)

    def favoured(self, noun: str) -> list[Evidence]:
        """Return evidence for changing the data rather than the layer."""
        layer, walk = self.layer, self.crash.event.walk
        if self.has_worked:
            return [Evidence(f"{layer.path} worked in an earlier step, so the data has changed")]
        if self.fitting_change is not None and self.crash.trials("resize-layer"):
            return [
                Evidence(
                    f"{self.fitting_change} makes the data fit {layer.path} exactly, so the shape of the data is "
                    "more likely wrong than the size of the layer"
                )
            ]
        if len(walk) == 1 and self.crash.numbers("layer_input") == walk[0].shape:
            return [
                Evidence(
                    f"{layer.path} is the first layer: if the data should have other {noun}, fix the data instead"
                )
            ]
        return []
