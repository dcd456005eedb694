"""Is every result used that a step computes?"""

from __future__ import annotations

from torchwhy.detect.checks import measured_answers as measured
from torchwhy.detect.checks import recorded_facts as facts
from torchwhy.detect.checks.asked_question import ask

QUESTION = ask(
    "nothing-thrown-away",
    "Is nothing computed and thrown away?",
    facts.GRAPH,
    by=measured.graph,
)
