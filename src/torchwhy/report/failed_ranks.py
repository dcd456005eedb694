"""Which rank failed first, on which machine, and how many followed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchwhy.plain_data import dataclass


@dataclass(frozen=True)
class FailedRanks:
    """The rank that failed first, its machine if there are several, and how many of the other ranks failed as well."""

    first: int
    followed: int
    ranks: int
    host: str = ""

    @property
    def words(self) -> str:
        """Return `rank 613 on host-76 first; 1023 followed`."""
        where = f" on {self.host}" if self.host else ""
        return f"rank {self.first}{where} first; {self.followed} followed"


def failed_from_json(facts: Mapping[str, Any]) -> FailedRanks:
    """Return what report.json holds of it."""
    return FailedRanks(
        facts["first"], facts["followed"], facts["ranks"], host=facts.get("host", "")
    )
