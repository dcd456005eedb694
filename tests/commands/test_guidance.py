"""Suggestions for mistyped words, the line of versions, and shell completion."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from torchwhy.commands import COMMANDS, main
from torchwhy.commands.guidance.completion import SHELLS


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        (["reprot"], "'reprot' is no command: did you mean repro or report?"),
        (["chek", "x.py"], "did you mean check?"),
        (["train.py", "--lr", "3"], "`torchwhy run train.py …` runs a program"),
        (["missing.py"], "`torchwhy run missing.py` runs a program"),
        (["qqq"], "there are run, check"),
        (["run", "--jsn", "x", "train.py"], "did you mean --json;"),
        (["report", "--outptu=x"], "did you mean --output;"),
        (["explain", "divison-by-zero"], "did you mean division-by-zero?"),
        (["--versoin"], "did you mean --version;"),
    ],
)
def test_a_mistyped_word_gets_a_suggestion(tmp_path, monkeypatch, capsys, words, fragment):
    monkeypatch.chdir(tmp_path)

    assert main(words) == 2

    shown = capsys.readouterr()
    assert fragment in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""


def test_the_version_names_torch_without_importing_it():
    code = (
        "import sys, runpy; sys.argv = ['torchwhy', '--version']\n"
        "try: runpy.run_module('torchwhy', run_name='__main__')\n"
        "except SystemExit as done: print(done.code, 'torch' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    first, second = done.stdout.splitlines()
    assert first.startswith("torchwhy 0.1.0 (torch ")
    assert f"Python {sys.version.split()[0]})" in first
    assert second in ("0 False", "None False")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_completion_knows_commands_options_and_causes(capsys, shell):
    assert main(["completion", shell]) == 0

    script = capsys.readouterr().out
    assert all(name in script for name in (*COMMANDS, "on-failure", "division-by-zero"))


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_a_command(tmp_path, capsys):
    main(["completion", "bash"])
    script = tmp_path / "completion.bash"
    script.write_text(capsys.readouterr().out)
    code = (
        f"source {script}; COMP_WORDS=(torchwhy repo); COMP_CWORD=1; "
        "$(complete -p torchwhy | sed 's/.*-F \\([^ ]*\\).*/\\1/') torchwhy repo torchwhy; "
        'echo "${COMPREPLY[@]}"'
    )

    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=False)

    assert done.stdout.split() == ["report"], done.stderr


def test_a_missing_extra_is_one_sentence(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)

    assert main(["completion", "bash"]) == 2
    assert capsys.readouterr().err.endswith("[missing-extra]\n")
