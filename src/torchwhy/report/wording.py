"""The words that the renderers share: what became of a fix, and since when a fault shows."""

from __future__ import annotations

from torchwhy.finding import Evidence, Finding
from torchwhy.report.headlines import LASTING, moment

SAFETY_WORDS = {
    "safe": "same results",
    "changes-results": "changes results",
    "show-only": "an idea, not a patch",
}
VERDICT_WORDS = {
    "cured": "tried: cured",
    "runs": "tried: runs, learning not shown",
    "changes-intent": "tried: runs, but undoes what the program states",
    "symptom-only": "tried: only hides the symptom",
    "fits-this-call": "tried: fits this call",
    "no-difference": "tried: no difference",
    "not-run": "not tried",
}
CERTAINTY_WORDS = {
    "observed": "measured in the run",
    "replayed": "seen again in a replay",
    "verified": "verified by a trial",
}
OFFERED = ("cured", "runs", "fits-this-call", "not-run")


def since(root: Finding) -> str:
    """Return the step, and the sample if it is known: `step 3, sample 5 of the batch`."""
    words = []
    if root.step is not None:
        words.append(_step(root, root.step))
    if root.sample is not None:
        sample = f"sample {root.sample.position} of the batch"
        if root.sample.dataset_index is not None:
            where = f"`{root.sample.rows_of}`" if root.sample.rows_of else "the dataset"
            sample += f" (row {root.sample.dataset_index} of {where})"
        if root.sample.more:
            sample += f" and {root.sample.more} more"
        words.append(sample)
    return ", ".join(words)


def when_and_which(root: Finding) -> list[str]:
    """Return the step and the sample in short: `step 3`, `sample 5 (row 201)`."""
    words = []
    if root.step is not None:
        step = _step(root, root.step)
        words.append(f"since {step}" if root.effect in LASTING and root.step >= 0 else step)
    sample = root.sample
    if sample is not None:
        of = f" of `{sample.rows_of}`" if sample.rows_of else ""
        row = f" (row {sample.dataset_index}{of})" if sample.dataset_index is not None else ""
        more = f" and {sample.more} more" if sample.more else ""
        words.append(f"sample {sample.position}{row}{more}")
    return words


def _step(root: Finding, step: int) -> str:
    """Return `step 53 (epoch 2, batch 5)`."""
    if step < 0:
        return "before the first step"
    return f"step {step}" if root.position is None else f"step {step} ({root.position})"


def claim_of(finding: Finding, evidence: Evidence) -> str:
    """Return a fact with its step and place where these are not the finding's own."""
    words = evidence.claim
    if evidence.step is not None and evidence.step != finding.step:
        words += f" ({moment(evidence.step)})"
    if evidence.location is not None and evidence.location != finding.location:
        words += f" [{evidence.location}]"
    if evidence.series:
        words += f": {evidence.series[0]:.4g} → {evidence.series[-1]:.4g}"
    return words
