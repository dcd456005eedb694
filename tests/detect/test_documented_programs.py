"""Every program in every detector's manual page is run for real and must give what the page says."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from tests.support.run_program import Outcome, ProgramText
from tests.test_programs import MANUAL
from torchwhy.detect.base import Detector
from torchwhy.detect.registry import all_detectors

SECTIONS = ("What it finds", "Why it breaks training", "Broken", "Repaired", "Lookalike", "Limits")
DETECTORS = list(all_detectors().values())
PROGRAMS = MANUAL


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.id)
def test_program_gives_what_its_manual_page_says(
    program: ProgramText, outcomes: dict[str, Outcome]
) -> None:
    outcome = outcomes[program.id]

    assert outcome.as_expected, outcome.describe()


@pytest.mark.parametrize("detector", DETECTORS, ids=lambda detector: detector.name)
def test_manual_page_is_complete(detector: type[Detector]) -> None:
    manual = detector.manual()

    assert manual.text.startswith(f"# {detector.name}\n\n")
    assert re.fullmatch(r"[^\n]+\.", manual.summary), "the summary is one sentence on one line"
    assert tuple(manual.sections) == SECTIONS
    assert all(body.strip() for body in manual.sections.values()), "a section is empty"


@pytest.mark.parametrize("detector", DETECTORS, ids=lambda detector: detector.name)
def test_every_kind_of_program_is_shown(detector: type[Detector]) -> None:
    shown = {program.section for program in detector.programs()}

    assert shown == {"broken", "repaired", "lookalike"}


@pytest.mark.parametrize("detector", DETECTORS, ids=lambda detector: detector.name)
def test_broken_programs_mark_one_line_with_the_detectors_name(detector: type[Detector]) -> None:
    marks = {
        program.number: re.findall(r"# <- (.+)$", program.text, flags=re.MULTILINE)
        for program in detector.programs()
        if program.section == "broken"
    }

    assert all(mark == [detector.name] for mark in marks.values()), marks


@pytest.mark.parametrize("detector", DETECTORS, ids=lambda detector: detector.name)
def test_file_is_named_after_its_detector(detector: type[Detector]) -> None:
    file = Path(inspect.getfile(detector))

    assert file.stem.replace("_", "-") == detector.name
