"""A row of a table of advice: a wording of torch's, and what experienced users do about it."""

from __future__ import annotations

from torchwhy.detect.rules.message_kinds import BeginnersError
from torchwhy.detect.rules.message_rows import USUAL, Row
from torchwhy.plain_data import dataclass


@dataclass(frozen=True)
class Advised:
    """An error by its name; `{one}` and `{other}` in the advice stand for the groups of the pattern."""

    name: str
    pattern: str
    example: str
    advice: str
    specificity: int = USUAL

    @property
    def row(self) -> Row:
        """Return the row of the table of torch's messages."""
        return Row(
            BeginnersError,
            self.pattern,
            self.example,
            specificity=self.specificity,
            fields={"name": self.name},
        )
