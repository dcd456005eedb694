"""All questions in the order of the list: the standing ones, then one file per question in `questions/`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import lru_cache

from torchwhy.detect.checks import questions
from torchwhy.detect.checks.asked_question import StandingQuestion
from torchwhy.detect.checks.standing_questions import OTHER, QUESTIONS


@lru_cache(maxsize=1)
def all_questions() -> tuple[StandingQuestion, ...]:
    """Return every question; each module below `questions/` holds one as `QUESTION`."""
    return (*QUESTIONS, *_found(), OTHER)


def _found() -> Iterator[StandingQuestion]:
    for group in pkgutil.iter_modules(questions.__path__, questions.__name__ + "."):
        package = importlib.import_module(group.name)
        for one in pkgutil.iter_modules(package.__path__, group.name + "."):
            yield importlib.import_module(one.name).QUESTION
