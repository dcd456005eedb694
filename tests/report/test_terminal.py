"""What a person sees. The golden text is meant to be read: look at the diff before accepting it."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest

from tests.report.examples import PROGRAM, RATE, ROOT, report
from tests.support.findings import said
from torchwhy.finding import Fix, SourceSpan, Trial
from torchwhy.question import Answer, Check, Question
from torchwhy.report.model import Report, build
from torchwhy.report.sparkline import sparkline
from torchwhy.report.text.terminal import Place, show, show_checks

GOLDEN_80 = """\
torchwhy: training broke ───────────────────────────────────────────────────────
error[root-gradient-at-zero]: the gradient of a square root at 0 is infinite
 --> train.py:7 in distance (module net.head) · step 300 · sample 7 (row 3091)
5 │ def distance(self, left, right):
6 │     squared = ((left - right) ** 2).sum(dim=1)
7 │     return torch.sqrt(squared)
  │            ^^^^^^^^^^^^^^^^^^^
  │                       └ was 0

  fix     add a small constant under the root (changes results; tried: cured)
          -        return torch.sqrt(squared)
          +        return torch.sqrt(squared + 1e-12)
  or      use torch.nn.functional.pairwise_distance, which has the constant
          built in
  why     seen again in a replay:
          · result: float32[32] in 0…3.12, 1 +inf, first at [7]
          · the pair was last seen whole (at step 150)
          · loss  █▃▁▁× 1 → nan
  led to  → clip_grad_norm_ multiplied every gradient by 1/inf = 0, and inf
            times 0 gave NaN in 12 gradients [train.py:44 in main]

  F3 warning train.py:12 in main: the learning rate 0.5 is 4.2 times above the
             stable 0.119 and the loss swings since step 31
             [learning-rate-too-high]

  note: the detector dead-units failed and was skipped: KeyError: 'x'

next: torchwhy explain root-gradient-at-zero · full report .torchwhy/runs/20260131T120000Z-train-4f3a/report.json
"""


class Screen(io.StringIO):
    """A stream of which we choose the encoding and whether it is a terminal."""

    def __init__(self, encoding: str = "utf-8", *, terminal: bool = False) -> None:
        super().__init__()
        self.chosen = encoding
        self.terminal = terminal

    @property
    def encoding(self) -> str:
        return self.chosen

    def isatty(self) -> bool:
        return self.terminal


@pytest.fixture
def shown(tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text(PROGRAM, encoding="utf8")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("CI", "FORCE_HYPERLINK", "TERM_PROGRAM", "VTE_VERSION"):
        monkeypatch.delenv(name, raising=False)

    def render(what: Report, columns: int = 80, screen: Screen | None = None) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        stream = screen or Screen()
        place = Place(Path(".torchwhy/runs/20260131T120000Z-train-4f3a"), tmp_path)
        show(what, place, stream)
        return stream.getvalue()

    return render


def test_the_report_at_80_columns(shown):
    assert shown(report()) == GOLDEN_80


@pytest.mark.parametrize("columns", [60, 80, 100, 120, 200])
def test_no_line_is_wider_than_the_screen_and_the_report_fits_one(shown, columns):
    lines = shown(report(), columns).splitlines()

    assert len(lines) <= 40
    assert max(len(line) for line in lines if "full report" not in line) <= min(columns, 120) + 10
    tables = [line for line in lines if line.startswith(("   ", "  why"))]
    assert all(len(line) <= min(columns, 120) for line in tables)


def test_a_stream_without_unicode_gets_plain_signs(shown):
    text = shown(report(), screen=Screen("ascii"))

    assert text.isascii()
    assert "7 |     return torch.sqrt(squared)" in text
    assert "?" not in text


def test_colours_only_on_a_terminal_and_not_with_no_color(shown, monkeypatch):
    assert "\x1b[" not in shown(report())
    assert "\x1b[" in shown(report(), screen=Screen(terminal=True))

    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in shown(report(), screen=Screen(terminal=True))


def test_places_are_links_only_in_a_terminal_that_has_them(shown, monkeypatch, tmp_path):
    monkeypatch.setenv("FORCE_HYPERLINK", "1")
    address = f"file://{tmp_path}/train.py"

    assert address in shown(report(), screen=Screen(terminal=True))
    assert "\x1b]8;" not in shown(report())

    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b]8;" not in shown(report(), screen=Screen(terminal=True))
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_HYPERLINK", "0")
    assert "\x1b]8;" not in shown(report(), screen=Screen(terminal=True))


@pytest.mark.parametrize(("steps", "words"), [(1, "1 step"), (412, "412 steps")])
def test_a_healthy_run_is_one_line(shown, steps, words):
    text = shown(build([], command=["x"], steps=steps, directory=Path("/")))

    assert text == f"torchwhy: nothing found in {words}.\n"


def check(answer: Answer, slug: str = "finite-numbers", **more: object) -> Check:
    return Check(Question(slug, f"Is {slug} fine?"), answer, **more)


def test_a_healthy_run_says_how_much_was_asked(shown):
    checks = [check("yes"), check("could-not-ask", reason="no loader"), check("yes")]

    text = shown(build([], command=["x"], steps=400, directory=Path("/"), checks=checks))

    assert text == (
        "torchwhy: nothing found in 400 steps (2 of 3 checks could be made; "
        "`torchwhy report --checks` lists them).\n"
    )


def test_what_was_not_seen_comes_before_that_nothing_was_found(shown):
    unseen = ("the probe step probe failed and was switched off: KeyError",)

    lines = shown(
        build([], command=["x"], steps=4, directory=Path("/"), unseen=unseen, notes=("ended.",))
    ).splitlines()

    assert lines == [
        f"torchwhy: {unseen[0]}",
        "torchwhy: nothing found in 4 steps.",
        "torchwhy: ended.",
    ]


def test_a_note_is_counted_and_shown_whole(shown):
    note = replace(
        RATE, severity="note", diagnosis=said("the loss " + "hardly falls " * 12 + "at all")
    )

    text = shown(build([note], command=["x"], steps=4, directory=Path("/")))

    assert text.startswith(
        "torchwhy: 1 note, nothing else found in 4 steps.\n  F1 note train.py:12"
    )
    assert " ".join(text.split()).endswith("hardly falls at all [learning-rate-too-high]")


def test_a_run_that_was_not_seen_claims_nothing(shown):
    blind = check("could-not-ask", reason="nothing was watched", is_blind=True)

    text = shown(
        build(
            [], command=["x"], steps=0, directory=Path("/"), unseen=("no torch.",), checks=[blind]
        )
    )

    assert text == "torchwhy: no torch.\n"


def test_the_list_of_checks_begins_with_what_matters_most(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    checks = [
        check("could-not-ask", "schedule", reason="there is none"),
        check("yes", "memory", measured=said("6 looks")),
        check("could-not-ask", "modes", reason="the mode probe failed", is_blind=True),
        check("no", "rate", causes=(RATE.detector,)),
    ]
    stream = Screen()

    report = build([RATE], command=["x"], steps=4, directory=Path("/"), checks=checks)
    show_checks(report, stream, of="check x")

    assert [" ".join(line.split()) for line in stream.getvalue().splitlines()] == [
        "torchwhy check x: 4 questions, 1 fine, 1 not, 2 could not be asked",
        f"✗ {RATE.message}",
        "train.py:12 in main [learning-rate-too-high]",
        "– modes: the mode probe failed",
        "✓ memory: 6 looks",
        "– schedule: there is none",
    ]


def test_an_answer_with_a_note_is_not_called_fine(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    noted = replace(RATE, severity="note")
    checks = [check("yes", "rate", measured=said("2 → 9"), causes=(RATE.detector,))]
    stream = Screen()

    show_checks(build([noted], command=["x"], steps=4, directory=Path("/"), checks=checks), stream)

    lines = stream.getvalue().splitlines()
    assert lines[0] == "torchwhy: 1 question, 0 fine, 0 not, 1 with a note, 0 could not be asked"
    assert lines[1].startswith(f"  ! {RATE.message}")


def test_only_warnings_are_not_called_broken(shown):
    text = shown(build([RATE], command=["x"], steps=9, directory=Path("/")))

    assert text.startswith("torchwhy: training has a problem ──")
    assert "warning[learning-rate-too-high]: " in text
    assert "· step 31" in text


def test_lost_batches_are_called_so(shown):
    lost = replace(RATE, effect="lost-batches")

    text = shown(build([lost], command=["x"], steps=9, directory=Path("/")))

    assert text.startswith("torchwhy: training lost batches ──")


def test_an_expression_over_several_lines_is_marked_on_each(shown, tmp_path):
    (tmp_path / "train.py").write_text("def f(x):\n    y = torch.log(\n        x,\n    ) / x\n")
    span = SourceSpan("train.py", 2, 4, 8, 9, "f", None, "torch.log(\n        x,\n    ) / x")

    lines = shown(build([replace(ROOT, location=span)], command=[], steps=1, directory=tmp_path))

    assert (
        "2 │     y = torch.log(\n"
        "  │         ^^^^^^^^^^\n"
        "3 │         x,\n"
        "  │         ^^\n"
        "4 │     ) / x\n"
        "  │     ^^^^^\n"
    ) in lines


def test_a_file_that_was_changed_since_is_not_marked_wrongly(shown, tmp_path):
    (tmp_path / "train.py").write_text("\n" * 6 + "nothing = 'of the kind'\n")

    text = shown(report())

    assert "of the kind" not in text
    assert "  │ torch.sqrt(squared)\n" in text


def test_markup_in_the_programs_own_words_is_shown_as_it_is(shown):
    odd = replace(RATE, diagnosis=said("x[red] :smile: [/] was odd"))

    assert "x[red] :smile: [/] was odd" in shown(
        build([odd], command=[], steps=1, directory=Path("/"))
    )


def test_several_ranks_are_named(shown):
    text = shown(build([replace(ROOT, rank=3)], command=[], steps=1, directory=Path("/")))

    assert "training broke, rank 3" in text.splitlines()[0]


@pytest.mark.parametrize(
    ("series", "picture"),
    [
        ([], ""),
        ([1.0], "▁"),
        ([2.0, 2.0], "▁▁"),
        ([0.0, 7.0], "▁█"),
        ([1.0, float("inf"), 0.0], "█×▁"),
        ([1.0, 1e3, 1e6], "▁▅█"),
        ([float("nan")] * 2, "××"),
    ],
)
def test_sparklines(series, picture):
    assert sparkline(series) == picture


def test_a_long_curve_is_shortened_and_keeps_its_spike():
    series = [1.0] * 1000
    series[777] = 9.0

    picture = sparkline(series, width=40)

    assert len(picture) == 40
    assert picture.count("█") == 1


def test_a_trial_is_told_with_its_curves_and_what_else_was_tried(shown):
    told = Trial(
        "cured",
        412,
        with_it="with it: 212 steps past the failure, loss 2.31 → 0.42",
        without_it="without it: NaN again at step 200",
        before_losses=(2.3, 2.0, float("nan")),
        after_losses=(2.3, 1.0, 0.4),
    )
    other = Trial("symptom-only", 412, with_it="with it: no NaN, but the loss stays at 2.3")
    fixes = (
        replace(ROOT.fixes[0], trial=told),
        Fix("clip the gradients", "--- a\n+++ a\n", trial=other),
    )

    text = shown(
        build([replace(ROOT, fixes=fixes)], command=[], steps=1, directory=Path()), columns=120
    )

    assert "tried: cured" in text
    assert "with it: 212 steps past the failure" in text
    assert "without █▁× 2.3 → nan" in text
    assert "with █▃▁ 2.3 → 0.4" in text
    assert "also tried  clip the gradients (changes results; tried: only hides the symptom)" in text
    assert "but the loss stays at 2.3" in text


def test_a_failure_that_only_evaluation_shows_is_not_called_a_broken_training() -> None:
    seen = replace(ROOT, effect="nan-in-evaluation")
    told = build([seen], command=["train.py"], steps=4, directory=Path())
    stream = Screen()

    show(told, Place(Path(), Path()), stream)

    assert stream.getvalue().startswith("torchwhy: evaluation produced NaN ──")
