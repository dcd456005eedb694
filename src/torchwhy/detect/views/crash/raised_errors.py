"""Diagnoses of exceptions that have no cause of their own: what raised them, and what is known besides the message."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.rules.beginner_messages import ADVICE
from torchwhy.detect.rules.everyday_messages import LATE_ADVICE, SWITCH
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, SourceSpan
from torchwhy.record.events import ProbeFailed
from torchwhy.record.trace import Trace

FETCH = "get the file itself: a failed download leaves a web page, and Git LFS a pointer (`git lfs pull`)"
SAVE_AGAIN = "save or copy it again; an interrupted save leaves the old file if you rename: `os.replace(new, path)`"

SEARCHED = (
    "look at the rank that ended first: its own error comes before this one. If it left none, it was killed (out of "
    "memory, a time limit) or crashed outside of Python"
)

KILLED = "find out who ended it: the system out of memory (`dmesg`), a time limit, or a crash outside of Python"
LEFT_EARLY = "let it make as many steps as the others: an exit, `return` or `break` is reached by this rank only"


class Raised(Diagnosis):
    """An exception that no other cause explains; `known` is its name in the table of advice, with parts to fill in."""

    expression: str
    layer: str | None
    type: str
    torch_says: str
    in_worker: bool
    known: str | None
    one: str | None = None
    other: str | None = None
    message = "`{expression}`{where} raised {type}{worker}: {torch_says}"

    @property
    def where(self) -> str:
        """Return a clause with the layer."""
        return f" in `{self.layer}`" if self.layer is not None else ""

    @property
    def worker(self) -> str:
        """Return a clause if a worker process raised it."""
        return " in a worker process of the DataLoader" if self.in_worker else ""

    @property
    def remedies(self) -> tuple[str, ...]:
        return (self.fill(ADVICE[self.known]),) if self.known is not None else ()


class LostPeer(Raised):
    """A collective failed because another rank is gone; why that rank ended, its own recording tells."""

    message = "`{expression}`{where} waited for another rank, which is gone"

    @property
    def remedies(self) -> tuple[str, ...]:
        return (SEARCHED,)


class RankGone(LostPeer):
    """A collective failed because the one rank that left no exception is gone; `in_order` if it ended by itself."""

    rank: int
    gone: int
    in_order: bool
    after: str
    message = "rank {gone} {ended} without an exception {after}; rank {rank} waited for it in `{expression}`"

    @property
    def ended(self) -> str:
        """Return how it ended."""
        return "ended by itself" if self.in_order else "was ended"

    @property
    def remedies(self) -> tuple[str, ...]:
        return (LEFT_EARLY,) if self.in_order else (KILLED,)


class ChildEnded(Raised):
    """A process reports that another one, which it started, failed."""

    number: int
    message = "`{expression}` reports that process {number} failed"

    @property
    def remedies(self) -> tuple[str, ...]:
        return (f"look at the error of process {self.number}: it comes before this one",)


class NothingReturned(Raised):
    """A `forward` ends without a `return`."""

    module: str
    message = "`{module}` returns None, because its forward ends without a `return`, so `{expression}` gets None"

    @property
    def remedies(self) -> tuple[str, ...]:
        return ("return the result at the end of `forward`: `return …`", *super().remedies)


class GradientIsNone(Raised):
    """The program uses `tensor.grad`, which is None."""

    tensor: str
    made_by: str | None  # the node that made the tensor; None for a leaf
    requires_grad: bool
    message = "`{tensor}.grad` is None: {why}"

    @property
    def why(self) -> str:
        """Return why the tensor has no gradient."""
        if self.made_by is not None:
            return f"`{self.tensor}` is the result of an operation, and only leaves keep their gradient"
        if not self.requires_grad:
            return f"`{self.tensor}` does not require a gradient"
        return f"no backward pass has reached `{self.tensor}` since its gradient was cleared"

    @property
    def remedies(self) -> tuple[str, ...]:
        if self.made_by is not None:
            leaf = f"{self.tensor} = {self.tensor}.detach().requires_grad_()"
            return (
                f"make the finished tensor a leaf before it is used: `{leaf}`",
                f"call `{self.tensor}.retain_grad()` before the backward pass",
            )
        if not self.requires_grad:
            return (f"call `{self.tensor}.requires_grad_()` before the forward pass",)
        return ("let the loss depend on it, and read it after `backward()`, before `zero_grad()`",)


class ScheduleFromZero(Raised):
    """A function of a learning rate divides by the number of the step, and a schedule begins at 0."""

    schedule: str
    counter: str
    message = "`{expression}` divides by zero: {schedule} calls this function with 0 first, and `{counter}` was 0"

    @property
    def remedies(self) -> tuple[str, ...]:
        return (f"count from 1: `{self.counter} = {self.counter} + 1` first in the function",)


class SampleIsNone(Raised):
    """The dataset returned None for a sample."""

    index: int
    message = (
        "sample {index} of the dataset is None, so the DataLoader cannot build a batch from it"
    )

    @property
    def remedies(self) -> tuple[str, ...]:
        return (
            "leave such samples out when the dataset is made, so that its length counts only good ones",
            "drop them in a `collate_fn`: `default_collate([one for one in batch if one is not None])`",
        )


class KeyMissing(Raised):
    """A sample of the dataset has no value for a key that another sample has."""

    index: int
    key: str
    first_index: int
    message = (
        "sample {index} of the dataset has no {key}, but sample {first_index} has it, so the DataLoader cannot "
        "build a batch from them"
    )


class BatchNotMade(Raised):
    """A DataLoader could not build a batch from its samples."""

    message = "the DataLoader could not build a batch from its samples: {type}: {torch_says}"


class WronglyUnpacked(Raised):
    """The loop over a DataLoader unpacks a batch into a different number of parts than it has."""

    parts: list[str]
    wanted: int
    message = "a batch of this DataLoader has {count} {noun} ({shown}), but `{expression}` unpacks {wanted}"

    @property
    def count(self) -> int:
        """Return the number of parts of a batch."""
        return len(self.parts)

    @property
    def noun(self) -> str:
        """Return `part` or `parts`."""
        return "part" if self.count == 1 else "parts"

    @property
    def shown(self) -> str:
        """Return the parts in words."""
        return ", ".join(self.parts)


class ReportedLate(Raised):
    """A GPU reported a failure that happened in an earlier operation."""

    failure: str  # its name in the table of advice
    switch: str | None = None  # of the environment, that makes every launch wait
    answered_at_step: int | None = None  # the last step at which torchwhy read from the device
    silent_at: SourceSpan | None = None  # the line at which torchwhy could no longer read from it
    message = (
        "`{expression}` heard of a failure on the GPU, which may have happened in an earlier line, because a GPU "
        "works on its own: {torch_says}"
    )

    @property
    def remedies(self) -> tuple[str, ...]:
        advice = LATE_ADVICE[self.failure]
        return (
            advice
            if self.switch is None
            else tuple(one.replace(SWITCH, self.switch) for one in advice)
        )

    def evidence(self) -> Iterator[Evidence]:
        if self.silent_at is None or self.answered_at_step is None:
            return
        yield Evidence(
            f"the device still answered before the update of step {self.answered_at_step}, and no longer at line "
            f"{self.silent_at.line} of the step after it: the operation that failed was launched between the two; "
            "only a run that waits for every launch can tell which one it was",
            step=self.answered_at_step + 1,
            location=self.silent_at,
        )


def last_answer(trace: Trace) -> tuple[int | None, SourceSpan | None]:
    """Return the last step at which torchwhy read from the device, and where it no longer could."""
    silent = (one.noticed_at for one in trace.of(ProbeFailed) if one.noticed_at is not None)
    where = next(silent, None)
    return (trace.steps[-1].step, where) if where is not None and trace.steps else (None, None)


class WrongBuild(ReportedLate):
    """The installed torch has no code for this GPU."""

    message = "the torch installed here has no code for this GPU: {torch_says}"


class FileUnreadable(Raised):
    """`torch.load` got a file that is damaged, or not a checkpoint."""

    file: str | None
    size: int | None  # in bytes
    begins: str | None  # its first bytes, if they are not those of a checkpoint
    message = "`{expression}` cannot read {name}: {why}"

    @property
    def name(self) -> str:
        """Return the file."""
        return self.file if self.file is not None else "the file"

    @property
    def why(self) -> str:
        """Return what is wrong with the file."""
        if self.size == 0:
            return "it is empty"
        if self.begins is not None:
            return f"it is not a checkpoint of torch, it begins with {self.begins}"
        return "it is damaged, probably because writing or copying it was cut off"

    @property
    def remedies(self) -> tuple[str, ...]:
        if self.begins is not None and self.size != 0:
            return (FETCH,)
        return (SAVE_AGAIN,)


AS_FACTOR = (
    "pass the Cholesky factor instead, as `scale_tril`: a lower triangle whose diagonal is positive "
    "(`exp` or `softplus` of raw values, `exp` of half a log-variance)"
)
INDEPENDENT = "if the dimensions are independent: `Independent(Normal(mean, deviation), 1)`"
MATRICES = ("PositiveDefinite()", "LowerCholesky()")  # constraints of whole matrices


class RefusedByDistribution(Raised):
    """A distribution refuses values outside of its range."""

    distribution: str
    argument: str
    constraint: str
    count: int
    of: int
    each: int  # elements that one judgement covers: a row of logits, or a single value
    nonfinite: int
    minimum: float
    maximum: float
    message = "{count} of {of} {units} of `{argument}` are not allowed in {distribution}: {why}"

    @property
    def units(self) -> str:
        """Return what is counted."""
        if self.constraint in MATRICES:
            return "matrices"
        return "rows" if self.each > 1 else "values"

    @property
    def why(self) -> str:
        """Return what the values are, and what they should be."""
        if self.nonfinite:
            are = "element is" if self.nonfinite == 1 else "elements are"
            return f"{self.nonfinite} {are} not finite"
        if self.constraint in MATRICES:
            return self.fill("they must satisfy {constraint}")
        return self.fill(
            "they must satisfy {constraint}, but range from {minimum:.3g} to {maximum:.3g}"
        )

    @property
    def remedies(self) -> tuple[str, ...]:
        if not self.nonfinite and self.constraint in MATRICES:
            return (AS_FACTOR, INDEPENDENT)
        if self.nonfinite or "GreaterThan" not in self.constraint:
            return ()
        return (
            f"compute `{self.argument}` so that it is positive: `functional.softplus(raw) + 1e-6`, or `raw.exp()`",
        )


class ExtraMissing(Raised):
    """A part of torch needs a package that is not installed."""

    part: str
    package: str
    message = "`{part}` needs the package `{package}`, which is not installed and does not come with torch"
    advice = "install it: `pip install {package}`"

    @property
    def remedies(self) -> tuple[str, ...]:
        return (self.fill(self.advice),)
