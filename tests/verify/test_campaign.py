"""The order of tried fixes, and what a fix may not undo."""

from __future__ import annotations

from dataclasses import replace

from tests.support.findings import said
from torchwhy.finding import Finding, Fix, Trial
from torchwhy.source.edits import diff_between
from torchwhy.verify.campaign import with_trials
from torchwhy.verify.candidates import candidates
from torchwhy.verify.intents import thawed

ROOT = Finding("root-gradient-at-zero", "error", said("the root"))


def tried(title, verdict, *, change=None, safety="changes-results"):
    trial = Trial(verdict, with_it="with it: 100 steps", healthy_change=change)
    return Fix(title, diff=title, safety=safety, trial=trial)


def titles(*fixes):
    return [fix.title for fix in with_trials(ROOT, fixes).fixes]


def test_of_two_cures_the_one_that_changes_healthy_steps_least_comes_first():
    coarse = tried("coarse", "cured", change=0.3, safety="safe")
    fine = tried("fine", "cured", change=0.02)

    assert titles(coarse, fine) == ["fine", "coarse"]


def test_a_change_that_nobody_notices_does_not_decide():
    safe = tried("safe", "cured", change=5e-4, safety="safe")

    assert titles(tried("other", "cured", change=0.0), safe) == ["safe", "other"]


def test_cured_comes_before_runs_and_runs_before_what_undoes_or_hides():
    verdicts = ["no-difference", "symptom-only", "changes-intent", "runs", "cured"]

    assert titles(*(tried(one, one) for one in verdicts)) == list(reversed(verdicts))


def test_only_a_cure_verifies_the_finding():
    assert with_trials(ROOT, [tried("a", "runs")]).certainty == "observed"
    assert with_trials(ROOT, [tried("a", "cured")]).certainty == "verified"


def test_changes_that_hide_are_tried_last(tmp_path):
    clamp, formula = Fix("clamp", diff="a", hides=True), Fix("formula", diff="b")
    clamp = replace(clamp, diff="--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n")
    formula = replace(formula, diff="--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+c\n")
    finding = Finding("none", "error", said("it"), fixes=(clamp, formula))

    assert [fix.title for fix in candidates(finding, tmp_path)] == ["formula", "clamp"]


FREEZES = """for p in backbone.parameters():
    p.requires_grad = False
head = Linear(4, 2)
"""


def undone(tmp_path, after):
    (tmp_path / "train.py").write_text(FREEZES)
    return thawed(diff_between("train.py", FREEZES, after), tmp_path)


def test_taking_out_a_statement_that_freezes_is_noticed(tmp_path):
    assert undone(tmp_path, "head = Linear(4, 2)\n") == "p.requires_grad = False"


def test_moving_it_or_training_a_layer_after_it_is_not(tmp_path):
    loop, rest = FREEZES[:-20], FREEZES[-20:]

    assert undone(tmp_path, rest + loop) is None
    assert undone(tmp_path, FREEZES + "head.requires_grad_(True)\n") is None


def test_a_change_for_a_note_is_not_tried_for_an_error(tmp_path):
    silenced = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n"
    note = Finding("other", "note", said("aside"), fixes=(Fix("silence it", diff=silenced),))

    assert candidates(Finding("none", "error", said("it"), explains=(note,)), tmp_path) == []
