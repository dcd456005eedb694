"""Find the causes that match a word, several words or a pasted error message.

A word of the query scores in every field of a page that has a word beginning with it; rare words count more. A page
matches if it has most of the query by that weight; pages that have all words come first. Words that no page has are
ignored, up to half of the query.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from torchwhy.detect.manuals.page import FENCE, Manual
from torchwhy.plain_data import dataclass

WORD = re.compile(r"(?<![a-z0-9])[a-z][a-z0-9]*")
WEIGHTS = {"name": 8.0, "summary": 4.0, "symptom": 3.0, "finds": 2.0, "prose": 1.0}
WEIGHT_OF_CODE = 0.5
BEGINNING = 0.5  # A word that only begins with the query's word scores half.
NEEDED = 0.6  # A page must have this share of the query's weight.
TAIL = 0.3  # Matches below this share of the best score only mention the word in passing.


@dataclass(frozen=True)
class Entry:
    """The searched texts of one cause: its page, and the title of its group in the list."""

    manual: Manual
    group: str

    def fields(self) -> dict[str, frozenset[str]]:
        """Return the words of each field."""
        sections = {
            title: FENCE.sub("", body).lower() for title, body in self.manual.sections.items()
        }
        finds = sections.get("What it finds", "") + sections.get("Why it breaks training", "")
        texts = {
            "name": self.manual.name,
            "summary": self.manual.summary,
            "symptom": self.group,
            "finds": finds,
            "prose": " ".join(sections.values()),
            "code": " ".join(fence["body"] for fence in FENCE.finditer(self.manual.text)),
        }
        return {field: frozenset(words_of(text)) for field, text in texts.items()}


def words_of(text: str) -> list[str]:
    """Return the lower-case words of a text, without numbers, because those in messages vary."""
    return WORD.findall(text.lower())


def search(query: str, entries: Mapping[str, Entry]) -> list[str]:
    """Return the names of the matching causes, the best first.

    Code counts only if no prose matches, because most programs contain a softmax or a loss.
    """
    fields = {name: entry.fields() for name, entry in entries.items()}
    words = list(dict.fromkeys(words_of(query)))
    return _ranked(words, fields, WEIGHTS) or _ranked(words, fields, {"code": WEIGHT_OF_CODE})


def _ranked(
    words: list[str],
    fields: Mapping[str, Mapping[str, frozenset[str]]],
    weights: Mapping[str, float],
) -> list[str]:
    known = [word for word in words if any(_hit(word, own, weights) for own in fields.values())]
    if 2 * len(known) < len(words):
        return []
    hits = {name: [_hit(word, own, weights) for word in known] for name, own in fields.items()}
    rarities = [_rarity(column, len(fields)) for column in zip(*hits.values(), strict=True)]
    scores = {
        name: sum(hit * rarity for hit, rarity in zip(own, rarities, strict=True))
        for name, own in hits.items()
        if _covers(own, rarities)
    }
    best = max(scores.values(), default=0.0)
    ranked = sorted(scores, key=lambda name: (not all(hits[name]), -scores[name], name))
    return [name for name in ranked if scores[name] >= TAIL * best]


def _hit(word: str, fields: Mapping[str, frozenset[str]], weights: Mapping[str, float]) -> float:
    return sum(weight * _similarity(word, fields[field]) for field, weight in weights.items())


def _similarity(word: str, words: frozenset[str]) -> float:
    if word in words:
        return 1.0
    stem = word.removesuffix("s") if len(word) > 3 else word
    return BEGINNING if any(one.startswith(stem) for one in words) else 0.0


def _rarity(column: Iterable[float], pages: int) -> float:
    return math.log(1 + pages / (1 + sum(hit > 0 for hit in column)))


def _covers(hits: list[float], rarities: list[float]) -> bool:
    total = sum(rarities)
    covered = sum(rarity for hit, rarity in zip(hits, rarities, strict=True) if hit)
    return covered > 0 and covered >= NEEDED * total
