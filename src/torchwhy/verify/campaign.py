"""The trials of one diagnosed run: one candidate after another within a time limit, and the judged fixes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from pathlib import Path

from torchwhy.confine.confined_run import FileProtectedError
from torchwhy.detect.fixes.training.optimizers import lower_rate
from torchwhy.finding import Finding, Fix, Trial
from torchwhy.plain_data import dataclass
from torchwhy.verify.candidates import candidates, effect_of, open_source
from torchwhy.verify.diffs import EditError, edited_texts, joined
from torchwhy.verify.run_result import RunResult
from torchwhy.verify.trial import Laboratory, Tried, try_fix
from torchwhy.verify.verdicts import remaining, shows_learning

ENOUGH_SECONDS = 2.0  # With less time left, a trial would be killed soon after its start.
MOST_SECOND_CHANGES = 3  # Tried together with a change that revealed a second cause.
# If two cures end a hundredfold apart in loss, the worse one only hides the failure: 1 / 1e-12 is finite, too.
FAR_ABOVE = 100.0
UNNOTICED = 1e-3  # A fix that moves healthy losses by at most this share leaves them as they were.
RANK = {
    "cured": 0,
    "runs": 1,
    "changes-intent": 2,
    "symptom-only": 3,
    "fits-this-call": 4,
    "no-difference": 5,
    "not-run": 6,
}
SAFETY_RANK = {"safe": 0, "changes-results": 1, "show-only": 2}
NOTHING_KNOWN = "no change to the source is known that might cure this cause."
NOT_REPEATED = (
    "no fix was tried: the program did not fail in a second run with the same seeds, so a run "
    "without failure would prove nothing."
)

INTERRUPTED = "no fix was tried, because a signal ended the trials."

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """The finding with its tried fixes, best first, and notes on what was not tried and why."""

    finding: Finding
    notes: tuple[str, ...] = ()


def try_all(
    laboratory: Laboratory, findings: Sequence[Finding], *, limit_seconds: float, tell: Tell
) -> Outcome:
    """Try the candidates for the laboratory's finding until one cures it and learns, or time is up."""
    chosen = choose(laboratory.finding, findings, laboratory.directory, command=laboratory.command)
    if not chosen:
        return Outcome(laboratory.finding, (NOTHING_KNOWN,))
    if laboratory.run_seconds > limit_seconds:
        return Outcome(laboratory.finding, (_takes_too_long(laboratory, chosen, limit_seconds),))
    control = laboratory.control(findings)
    campaign = Campaign(laboratory, control, limit_seconds, tell)
    try:
        if not laboratory.is_repeatable(control) and not campaign.fails_again():
            return Outcome(laboratory.finding, (NOT_REPEATED,))
    except KeyboardInterrupt:
        return Outcome(laboratory.finding, (INTERRUPTED,))
    except (FileProtectedError, OSError) as problem:
        return Outcome(laboratory.finding, (f"no fix was tried: {problem}",))
    campaign.try_each(chosen)
    for go_on in (campaign.try_second_changes, campaign.try_lower_rate):
        if not campaign.is_cured and not campaign.interrupted:
            go_on()
    return Outcome(with_trials(laboratory.finding, campaign.judged()), tuple(campaign.notes))


def choose(
    root: Finding,
    findings: Sequence[Finding],
    directory: Path,
    *,
    command: tuple[str, ...] = (),
) -> list[Fix]:
    """Return the changes to try for the root cause; if there are none, those for the other errors."""
    others = [one for one in findings if one.severity == "error" and one is not root]
    for finding in (root, *others):
        chosen = candidates(finding, directory, command=command)
        if chosen:
            return chosen
    return []


def _takes_too_long(laboratory: Laboratory, fixes: Sequence[Fix], limit_seconds: float) -> str:
    names = "; ".join(fix.title for fix in fixes)
    seconds = laboratory.run_seconds
    return (
        f"no fix was tried, because the failing run took {seconds:.0f} seconds and trials may take "
        f"{limit_seconds:g}; `--fix-limit {2 * seconds:.0f}` allows one trial. Candidates: {names}."
    )


@dataclass
class Campaign:
    """The trials so far, and the time left for more."""

    laboratory: Laboratory
    control: RunResult
    limit_seconds: float
    tell: Tell
    tried: list[Tried] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    interrupted: bool = False
    began: float = field(default_factory=time.monotonic)

    @property
    def fixes(self) -> list[Fix]:
        """Return the tried fixes."""
        return [one.fix for one in self.tried]

    @property
    def is_cured(self) -> bool:
        """Tell whether one of the tried fixes cures the run, as far as the run can show it."""
        return any(map(self._convinces, self.tried))

    @property
    def seconds_left(self) -> float:
        """Return the time left for trials."""
        return self.began + self.limit_seconds - time.monotonic()

    def fails_again(self) -> bool:
        """Run the program again without a change, and tell whether it fails."""
        self.tell(
            "the failure occurred only once so far: running the program again without a change"
        )
        again = self.laboratory.run(
            "control",
            Fix(""),
            stop_after_step=self.laboratory.last_step(self.control),
            limit_seconds=self.seconds_left / 2,
        )
        return again.failure is not None

    def try_each(self, fixes: Sequence[Fix]) -> bool:
        """Try fixes until one cures and leaves the steps before the failure as they were; tell whether one cures."""
        for number, fix in enumerate(fixes, start=1):
            if self.seconds_left < ENOUGH_SECONDS:
                names = "; ".join(one.title for one in fixes[number - 1 :])
                self.notes.append(
                    f"after {self.limit_seconds:g} seconds of trials, these were left untried: {names}; "
                    "`--fix-limit SECONDS` allows more time."
                )
                return False
            self.tell(f"trial {number} of {len(fixes)}: {fix.title}")
            try:
                done = self._try(fix)
            except KeyboardInterrupt:
                self.notes.append(
                    f"the trials were interrupted; this one did not finish: {fix.title}."
                )
                self.interrupted = True
                return self.is_cured
            except (FileProtectedError, OSError) as problem:
                self.notes.append(f"this was not tried: {fix.title}; {problem}")
                self.interrupted = True
                return self.is_cured
            self.tell(f"    {done.fix.trial.summary or done.fix.trial.verdict}")
            self.tried.append(done)
            if self._convinces(done) and noticed(done.fix) == 0.0:
                return True
        return self.is_cured

    def _convinces(self, done: Tried) -> bool:
        """Tell whether a fix cures, or whether the run is of a kind that cannot show more than that it runs."""
        if done.result is None or done.fix.trial.verdict not in ("cured", "runs"):
            return False
        is_of_players = len(done.result.players) > 1
        learns = shows_learning(self.control, done.result)
        return done.fix.trial.verdict == "cured" or learns is None or is_of_players

    def judged(self) -> list[Fix]:
        """Return the tried fixes; those whose loss ends far above that of another only hide the symptom."""
        cured = [one for one in self.tried if one.fix.trial.verdict in ("cured", "runs")]
        least = min((_last(one) for one in cured), default=0.0)
        bound = FAR_ABOVE * least if least > 0 else math.inf
        return [
            one.fix
            if one not in cured or _last(one) <= bound
            else replace(one.fix, trial=replace(one.fix.trial, verdict="symptom-only"))
            for one in self.tried
        ]

    def _try(self, fix: Fix) -> Tried:
        name = str(len(self.tried) + 1)
        try:
            return try_fix(
                self.laboratory,
                fix,
                control=self.control,
                name=name,
                limit_seconds=self.seconds_left,
            )
        except EditError as problem:
            return Tried(replace(fix, trial=Trial(with_it=problem.message)))

    def try_second_changes(self) -> None:
        """If a change revealed a second cause, try fixes for that cause, alone and together with it."""
        for one in list(self.tried):
            left = None if one.result is None else remaining(one.result, self.laboratory.finding)
            if left is None or one.result is None or not self._is_further(left, one.result):
                continue
            directory, command = self.laboratory.directory, self.laboratory.command
            texts = edited_texts(one.fix.diff, directory)
            seconds = candidates(left, directory, texts, command=one.fix.command or command)
            is_again = left.detector == self.laboratory.finding.detector
            pairs = [
                self._both(one.fix, second, is_again=is_again)
                for second in seconds[:MOST_SECOND_CHANGES]
            ]
            alone = candidates(left, directory, command=command)[:MOST_SECOND_CHANGES]
            tried = {effect_of(other) for other in self.fixes}
            new = [fix for fix in (*alone, *pairs) if effect_of(fix) not in tried]
            if new:
                self.tell(f"this reveals a second cause, {left.detector}: trying changes for it")
                self.try_each(new)
                return

    def _both(self, first: Fix, second: Fix, *, is_again: bool = False) -> Fix:
        """Return both changes as one; `is_again` means that the second corrects the first."""
        diffs = [fix.diff for fix in (first, second) if fix.diff]
        return Fix(
            second.title if is_again else f"{first.title}; and {second.title}",
            diff=joined(diffs, self.laboratory.directory) if diffs else "",
            command=second.command or first.command,
            environment=(*first.environment, *second.environment),
            hides=first.hides or second.hides,
        )

    def try_lower_rate(self) -> None:
        """If a change removed the finding but the loss does not fall, try it with a lower learning rate."""
        best = next(
            (
                one
                for one in self.tried
                if one.fix.trial.verdict == "symptom-only" and not one.fix.hides
            ),
            None,
        )
        place = self.laboratory.finding.location
        if best is None or place is None:
            return
        directory = self.laboratory.directory
        texts = edited_texts(best.fix.diff, directory)
        source = open_source(place.file, directory, texts, command=self.laboratory.command)
        slower = [] if source is None else list(lower_rate(None, source))[:1]
        self.try_each([self._both(best.fix, one) for one in slower])

    def _is_further(self, left: Finding, result: RunResult) -> bool:
        """Tell whether the remaining finding is another cause that the first one hid, or the same in a later batch."""
        first = self.laboratory.finding
        same_place = (
            left.location is not None
            and first.location is not None
            and left.location.expression == first.location.expression
        )
        if left.detector == first.detector and same_place:
            is_exception = result.failure is not None and result.failure.is_exception
            return is_exception and result.steps > self.control.steps
        return result.steps >= self.control.steps


def _last(tried: Tried) -> float:
    last = tried.result.last if tried.result is not None else None
    return 0.0 if last is None else last


def noticed(fix: Fix) -> float:
    """Return how far a fix moves the losses of healthy steps; 0 if it leaves them as they were."""
    change = fix.trial.healthy_change
    return 0.0 if change is None or change <= UNNOTICED else change


def with_trials(finding: Finding, tried: Sequence[Fix]) -> Finding:
    """Return the finding with the tried fixes first, best on top, and its advice after them.

    Of several that cure, the one that changes the healthy steps least is best.
    """
    ranked = sorted(
        tried,
        key=lambda fix: (RANK[fix.trial.verdict], noticed(fix), SAFETY_RANK[fix.safety]),
    )
    diffs = {fix.diff for fix in ranked}
    rest = [fix for fix in finding.fixes if not fix.diff or fix.diff not in diffs]
    is_cured = any(fix.trial.verdict == "cured" for fix in ranked)
    certainty = "verified" if is_cured else finding.certainty
    return replace(finding, fixes=(*ranked, *rest), certainty=certainty)
