"""Every program in this folder gets the answer of its place, and a healthy one is never told no."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.children import Zygote, shared_zygote
from tests.support.rehearsals import rehearse

HERE = Path(__file__).parent
ANSWERS = {"yes": "yes", "no": "no", "cannot": "could-not-ask"}
STEPS = 30
PINNED = sorted(HERE.glob("*/*/*.py"))
HEALTHY = sorted(HERE.glob("healthy/*.py"))


@pytest.fixture
def zygote() -> Zygote:
    return shared_zygote()


@pytest.mark.parametrize("program", PINNED, ids=lambda path: str(path.relative_to(HERE)))
def test_a_question_gets_the_answer_of_its_folder(program, zygote, tmp_path):
    question, answer = program.parts[-3:-1]

    done = rehearse(program.read_text(), zygote=zygote, folder=tmp_path, steps=STEPS)

    check = done.check(question)
    assert check.answer == ANSWERS[answer], (check.measured, check.reason, done.answer(question))
    assert done.ended.exit_code == 0
    assert done.errors == ""


@pytest.mark.parametrize("program", HEALTHY, ids=lambda path: path.stem)
def test_a_healthy_program_is_never_told_no(program, zygote, tmp_path):
    done = rehearse(program.read_text(), zygote=zygote, folder=tmp_path, steps=STEPS)

    denied = [c for c in done.report.checks if c.answer == "no"]
    assert [(c.question.slug, c.measured) for c in denied] == []
    assert done.experiments
    assert done.errors == ""
