"""A check is a question put to a training run, with its answer; every stage and `report.json` share this noun."""

from __future__ import annotations

from typing import Literal

from torchwhy.diagnosis import Diagnosis
from torchwhy.plain_data import dataclass

Answer = Literal["yes", "no", "could-not-ask"]


@dataclass(frozen=True)
class Question:
    """A question in a user's words, so put that "yes" is good news; `slug` names it in report.json."""

    slug: str
    words: str


@dataclass(frozen=True)
class Check:
    """The answer to a question.

    `measured` holds the facts behind a yes or a no, or those that leave it open. `reason` says why the question could
    not be asked; `is_blind` means that torchwhy is the reason (a probe failed, a detector failed, nothing was recorded)
    and not the program, which may simply have no scheduler or no evaluation. `causes` names the causes that were found.
    """

    question: Question
    answer: Answer
    measured: Diagnosis | None = None
    reason: str | None = None
    is_blind: bool = False
    causes: tuple[str, ...] = ()

    @property
    def was_made(self) -> bool:
        """Tell whether the question has an answer."""
        return self.answer != "could-not-ask"
