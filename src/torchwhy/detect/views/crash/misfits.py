"""A layer that was made for another size than it is given: whether the layer or the data is to blame, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from torchwhy.detect.views.crash.crash_evidence import Sized
from torchwhy.detect.views.crash.crash_view import CrashView
from torchwhy.detect.views.crash.operand_trials import words_of
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Fix, SourceSpan
from torchwhy.record.events import Layer


class OtherSize(Diagnosis):
    """A layer was made for another size than it is given."""

    layer: str
    wanted: int
    given: int
    tensor: Sized
    expression: str
    change: str | None  # of the tensor, with which the layer takes it
    fits_resized: bool  # if the layer is made for the size it was given

    @property
    def fitting(self) -> str:
        """Return which change of the data fits, at the end of the sentence."""
        return f"; {self.change} fits" if self.change is not None else ""


Judged = TypeVar("Judged", bound=OtherSize)


@dataclass(frozen=True)
class Misfit:
    """A layer with what it was given; `reshapes` are the kinds of trials that change the data in place of the layer."""

    crash: CrashView
    layer: Layer
    reshapes: tuple[str, ...]

    @property
    def fitting_change(self) -> str | None:
        """Return how the data fits the layer, if it was found that it does when reshaped."""
        return next((words_of(trial) for trial in self.crash.working(*self.reshapes)), None)

    @property
    def has_worked(self) -> bool:
        """Tell whether the layer has been through a step, so that its size fitted then."""
        return self.crash.worked_before(self.layer)

    @property
    def blames_data(self) -> bool:
        """Tell whether the data is likelier wrong than the layer."""
        return self.fitting_change is not None or self.has_worked

    @property
    def location(self) -> SourceSpan | None:
        """Return the constructor to change, None where the failing line is to blame."""
        return None if self.blames_data else self._constructor

    @property
    def _constructor(self) -> SourceSpan | None:
        """Return the layer's constructor; where its number comes through a parameter, the call that gives it."""
        made, resized = self.layer.made_at, self.crash.trials("resize-layer")
        written = resized[0].location if resized else None
        if written is None or made is None:
            return made
        is_inside = made.file == written.file
        is_inside = is_inside and made.line <= written.line <= (made.end_line or made.line)
        return made if is_inside else written

    def diagnosed(self, kind: type[Judged], *, wanted: int, given: int) -> Judged:
        """Return the diagnosis of a cause."""
        return kind(
            layer=self.layer.path,
            wanted=wanted,
            given=given,
            tensor=self.crash.layer_input.sized,
            expression=self.crash.expression,
            change=self.fitting_change,
            fits_resized=bool(self.crash.working("resize-layer")),
        )

    def fixes(self, *otherwise: str) -> list[Fix]:
        """Return what went through: the data reshaped first if it is to blame, else the layer resized."""
        names = (*self.reshapes, "resize-layer") if self.blames_data else otherwise
        return self.crash.fixes(*names)

    def favoured(self, noun: str) -> list[Evidence]:
        """Return which of two plausible cures, another layer or other data, the evidence favours."""
        layer, walk = self.layer, self.crash.event.walk
        if self.has_worked:
            return [
                Evidence(
                    f"{layer.path} has worked in an earlier step, so it is the data that changed"
                )
            ]
        if self.fitting_change is not None and self.crash.trials("resize-layer"):
            return [
                Evidence(
                    f"{self.fitting_change} makes the data fit {layer.path} exactly, so the shape of the data is "
                    "likelier wrong than the size of the layer"
                )
            ]
        if len(walk) == 1 and self.crash.numbers("layer_input") == walk[0].shape:
            return [
                Evidence(
                    f"{layer.path} is the first layer: if the data should have other {noun}, mend the data instead"
                )
            ]
        return []
