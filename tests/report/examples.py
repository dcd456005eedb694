"""A report with everything in it, for the tests of model and renderers."""

from __future__ import annotations

from pathlib import Path

from tests.support.findings import said
from torchwhy.finding import Evidence, Finding, Fix, Label, Sample, SourceSpan, Trial
from torchwhy.report.model import Report, build

DIRECTORY = Path("/home/ada/siamese")
PROGRAM = """import torch


class Siamese(torch.nn.Module):
    def distance(self, left, right):
        squared = ((left - right) ** 2).sum(dim=1)
        return torch.sqrt(squared)
"""
SPAN = SourceSpan(
    f"{DIRECTORY}/train.py", 7, 7, 15, 34, "distance", "net.head", "torch.sqrt(squared)"
)
CLIPPED = Finding(
    "clip-of-infinite-norm",
    "error",
    said(
        "clip_grad_norm_ multiplied every gradient by 1/inf = 0, and inf times 0 gave NaN in 12 gradients"
    ),
    step=300,
    location=SourceSpan("train.py", 44, 44, 4, 30, "main"),
)
RATE = Finding(
    "learning-rate-too-high",
    "warning",
    said(
        "the learning rate 0.5 is 4.2 times above the stable 0.119 and the loss swings since step 31"
    ),
    step=31,
    location=SourceSpan("train.py", 12, function="main"),
)
DIFF = """--- a/train.py
+++ b/train.py
@@ -7 +7 @@
-        return torch.sqrt(squared)
+        return torch.sqrt(squared + 1e-12)
"""
ROOT = Finding(
    "root-gradient-at-zero",
    "error",
    said(
        "the gradient of a square root at 0 is infinite: squared reached 0 for one pair",
        short="the gradient of a square root at 0 is infinite",
    ),
    step=300,
    location=SPAN,
    effect="training-broke",
    certainty="replayed",
    sample=Sample(7, 3091),
    evidence=(
        Evidence(
            "squared was 0 there",
            value=0.0,
            step=300,
            label=Label("squared", "was 0"),
        ),
        Evidence("result: float32[32] in 0…3.12, 1 +inf, first at [7]", step=300),
        Evidence("the pair was last seen whole", step=150),
        Evidence("loss", series=(1.0, 0.5, 0.25, 0.25, float("nan"))),
    ),
    explains=(CLIPPED,),
    fixes=(
        Fix(
            "add a small constant under the root",
            DIFF,
            "changes-results",
            Trial("cured", 200, before={"loss": float("nan")}, after={"loss": 0.25}),
        ),
        Fix("use torch.nn.functional.pairwise_distance, which has the constant built in"),
    ),
)


def report() -> Report:
    return build(
        [ROOT, CLIPPED, RATE],
        command=["train.py", "--lr", "3"],
        steps=301,
        directory=DIRECTORY,
        notes=("the detector dead-units failed and was skipped: KeyError: 'x'",),
    )
