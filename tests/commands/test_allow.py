"""`--allow` and `[tool.torchwhy]`: what they silence and set, and what is refused in one sentence."""

from __future__ import annotations

import argparse

import pytest

from torchwhy.commands import Parser, main, run
from torchwhy.commands.guidance.project_settings import words_of_settings
from torchwhy.errors import UsageError


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text("")
    return tmp_path


def options_of(command=run) -> Parser:
    parser = Parser(prog="torchwhy run")
    command.configure(parser)
    return parser


def settings(folder, text: str) -> argparse.Namespace:
    (folder / "pyproject.toml").write_text(text)
    parser = options_of()
    return parser.parse(words_of_settings(parser, ["code/train.py"]))


def test_settings_are_options_of_the_nearest_file_above_the_program(here):
    (here / "code" / "pyproject.toml").write_text("[tool.other]\ntorchwhy = 1\n")

    options = settings(
        here,
        """
        [tool.torchwhy]
        on-failure = "skip"
        rerun-limit = 20
        no-data = true
        no-rerun = false
        limit = 30      # an option of `torchwhy check`
        allow = ["stuck-loss", "missing-zero-grad@code/*.py"]
        """,
    )

    assert (options.on_failure, options.rerun_limit) == ("skip", 20.0)
    assert (options.no_data, options.no_rerun) == (True, False)
    assert options.allow == ["stuck-loss", f"missing-zero-grad@{here}/code/*.py"]


def test_the_command_line_wins_over_settings(here):
    (here / "pyproject.toml").write_text('[tool.torchwhy]\non-failure = "skip"\n')
    parser = options_of()

    words = [*words_of_settings(parser, ["code/train.py"]), "--on-failure", "stop"]

    assert parser.parse(words).on_failure == "stop"


@pytest.mark.parametrize(
    ("line", "fragment"),
    [
        ("on_failure = 'skip'", "there is no setting 'on_failure': did you mean on-failure?"),
        ("qqq = 1", "there is no setting 'qqq'; settings are named as the options of"),
        ("on-failure = 'jump'", "invalid choice: 'jump'"),
        ("no-data = 1", "`no-data` is true or false."),
        ("allow = 'stuck-loss'", "`allow` is a list of strings."),
        ("budget = [1]", "`budget` is a string or a number."),
        ("budget = ", "it is not valid TOML"),
    ],
)
def test_a_wrong_setting_is_one_sentence_that_names_the_file(here, line, fragment):
    with pytest.raises(UsageError) as caught:
        settings(here, f"[tool.torchwhy]\n{line}\n")

    assert caught.value.slug == "wrong-setting"
    assert caught.value.message.startswith("[tool.torchwhy] in pyproject.toml: ")
    assert fragment in caught.value.message


def test_a_broken_file_without_our_table_is_not_our_business(here):
    assert settings(here, "[tool.other\n") is not None


def test_a_wrong_setting_stops_before_the_program_runs(here, capsys):
    (here / "pyproject.toml").write_text("[tool.torchwhy]\nqqq = 1\n")

    assert main(["run", "code/train.py"]) == 2
    assert capsys.readouterr().err.endswith("[wrong-setting]\n")
    assert not (here / ".torchwhy").exists()


def test_a_misspelt_cause_is_refused(here, capsys):
    assert main(["run", "--allow", "stuck-los", "code/train.py"]) == 2
    assert "did you mean stuck-loss?" in capsys.readouterr().err
