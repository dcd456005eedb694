"""What a question of the rehearsal gives: measured facts with their control, and places."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from torchwhy.finding import SourceSpan
from torchwhy.plain_data import dataclass


@dataclass(frozen=True)
class Answer:
    """Numbers, words, yes or no, and lists of numbers by name, as an `Experiment` holds them."""

    facts: dict[str, Any]
    places: dict[str, SourceSpan | None] = field(default_factory=dict)
