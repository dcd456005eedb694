from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import shapes
from torchwhy.detect.rules.message_kinds import (
    EinsumLetter,
    Elementwise,
    InnerSizes,
    NotAMatrix,
    TorchMessage,
    UnequalSizes,
)
from torchwhy.detect.rules.torch_layers import FACTORS, FEATURE_SIZES
from torchwhy.detect.views.crash.crash_evidence import Sized, shown_operands, sized
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class InnerSizesDiffer(Diagnosis):
    """An expression multiplies matrices whose inner sizes differ."""

    expression: str
    factors: list[Sized]  # both, or none if they are unknown
    made_at: list[SourceSpan]  # where the tensors of the expression were made
    left: int | None
    right: int | None
    advice = (
        "make the last size of the left tensor equal to the second-to-last size of the right one"
    )

    @property
    def sentence(self) -> str:
        if not self.factors:
            return f"{self.expression} multiplies matrices whose inner sizes differ"
        sentence = f"{self.expression} multiplies {self.factors[0]} by {self.factors[1]}"
        if self.left is None or self.right is None:
            return sentence
        return f"{sentence}: {self.left} and {self.right} must be equal"


class DimensionMissing(InnerSizesDiffer):
    """A product of batches of matrices got a tensor that has no matrix for each sample."""

    advice = (
        "give each operand three dimensions, (batch, rows, columns): `unsqueeze` a vector for each sample, or use `@`, "
        "which takes any number of them"
    )


class LetterDiffers(InnerSizesDiffer):
    """One letter of an einsum stands for two sizes."""

    letter: str
    advice = (
        "give both operands the same size for the letter `{letter}` of the einsum, which is {left} in one and "
        "{right} in the other, or use two letters"
    )


class MatmulSizeMismatch(Detector):
    """Two tensors are multiplied as matrices, but their inner sizes differ."""

    name = "matmul-size-mismatch"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if crash.is_in_loader or crash.is_loss or _is_in_feature_layer(crash):
                continue
            match crash.said:
                case InnerSizes() | NotAMatrix():
                    pass
                case Elementwise() if crash.is_product:
                    pass
                case _:
                    continue
            yield from self._findings(crash, crash.said)

    def _findings(self, crash: CrashView, said: TorchMessage) -> Iterator[Finding]:
        if isinstance(said, UnequalSizes) and crash.is_changed_batch(said.left, said.right):
            return
        transposed = crash.fixes("transpose-operand")
        yield crash.finding(
            self.name,
            diagnosed(crash, said),
            evidence=[*_only_one(transposed), *crash.operand_evidence, *crash.walk_evidence],
            cures=[*transposed, *crash.fixes("unsqueeze-operand")],
        )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case InnerSizesDiffer(factors=[_, _], left=int(left), right=int(right), made_at=places):
                yield from shapes.factors_made_equal(places, source, left=left, right=right)


def _is_in_feature_layer(crash: CrashView) -> bool:
    layer = crash.refusing_layer
    return layer is not None and any(name in layer.settings for name in FEATURE_SIZES)


def diagnosed(crash: CrashView, said: TorchMessage) -> InnerSizesDiffer:
    """Return the factors, and their inner sizes if the message of torch names them."""
    sizes = said if isinstance(said, UnequalSizes) else UnequalSizes()
    common: dict[str, Any] = {
        "expression": crash.expression,
        "factors": _factors(crash),
        "made_at": [one.made_by for one in shown_operands(crash.event) if one.made_by is not None],
        "left": sizes.left,
        "right": sizes.right,
    }
    match said:
        case EinsumLetter(letter=letter):
            return LetterDiffers(**common, letter=letter)
        case NotAMatrix():
            return DimensionMissing(**common)
    return InnerSizesDiffer(**common)


def _factors(crash: CrashView) -> list[Sized]:
    """Return the two tensors that the expression multiplies; none if they are unknown."""
    named = [tensor for tensor in crash.event.operands if tensor.kind != "array"]
    if len(named) < 2:
        named = [tensor for tensor in crash.event.inputs if tensor.argument in FACTORS][-2:]
    return [sized(tensor) for tensor in named[:2]] if len(named) > 1 else []


def _only_one(transposed: list[Fix]) -> list[Evidence]:
    """Return the transposition as evidence if it is the only one that works."""
    if len(transposed) != 1:
        return []
    return [Evidence(f"of all transpositions only {transposed[0].title} works")]
