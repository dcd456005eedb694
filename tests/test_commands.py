"""The command line, from the words typed to the exit code."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.guest import Workshop
from tests.support.recording import RECORDING_WIRE
from torchwhy.commands import Parser, main, run
from torchwhy.commands.doctor import check_accelerator, feature_lines
from torchwhy.observe.torch_features.table import FEATURES
from torchwhy.record.run_file import Run, read_run, write_run

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def workshop(tmp_path):
    """A folder where `torchwhy run train.py` records what `records(name)` chose."""
    made = Workshop(tmp_path)
    made.write(
        "train.py", "import torch\nloss = torch.log(p) if False else 'trained'\nprint(loss)\n"
    )
    return made


@pytest.fixture
def records(workshop, monkeypatch):
    def choose(name: str) -> Workshop:
        path = [str(workshop.folder / "user"), str(ROOT / "src"), str(ROOT)]
        monkeypatch.setattr(
            Workshop,
            "environment",
            {**workshop.environment, "PYTHONPATH": ":".join(path), "COLUMNS": "100"},
        )
        workshop.sitecustomize(RECORDING_WIRE.replace("{name!r}", repr(name)))
        return workshop

    return choose


@pytest.mark.parametrize(
    ("words", "own", "program"),
    [
        (["train.py", "--json", "x"], [], ["train.py", "--json", "x"]),
        (["--json", "x", "train.py"], ["--json", "x"], ["train.py"]),
        (["--json=x", "train.py", "--help"], ["--json=x"], ["train.py", "--help"]),
        (["--quiet", "-m", "package", "-h"], ["--quiet"], ["-m", "package", "-h"]),
        (["--no-rerun", "--", "--odd-name"], ["--no-rerun"], ["--odd-name"]),
        (["--help"], ["--help"], []),
        (
            ["--rerun-limit", "5", "torchrun", "--nproc"],
            ["--rerun-limit", "5"],
            ["torchrun", "--nproc"],
        ),
    ],
)
def test_everything_after_the_program_belongs_to_it(words, own, program):
    parser = Parser()
    run.configure(parser)

    assert run.split(words, parser) == (own, program)


@pytest.mark.parametrize(
    ("words", "slug", "fragment"),
    [
        (["run"], "no-program", "no program was given"),
        (["run", "--nonsense", "train.py"], "wrong-option", "--nonsense"),
        (["run", "--on-failure", "explode", "train.py"], "wrong-option", "explode"),
        (["run", "--rerun-limit", "-3", "train.py"], "wrong-option", "-3"),
        (["run", "missing.py"], "no-such-script", "missing.py"),
        (["run", "folder"], "script-is-directory", "folder"),
        (["run", "--json", "no/where.json", "good.py"], "cannot-write-report", "no"),
        (["report"], "unknown-run", "no run is recorded"),
        (["report", "nope"], "unknown-run", "nope"),
        (["report", "folder"], "unknown-run", "folder"),
        (["report", "-f", "pdf"], "wrong-option", "pdf"),
        (["explain", "log-of-nonpositve"], "unknown-detector", "log-of-nonpositive"),
        (["explain", "qqq"], "unknown-detector", "no manual page matches it"),
        (["frobnicate"], "wrong-option", "frobnicate"),
        (["doctor", "extra"], "wrong-option", "extra"),
    ],
)
def test_bad_input_is_one_sentence_with_a_slug_and_exit_code_2(here, capsys, words, slug, fragment):
    (here / "folder").mkdir()
    (here / "good.py").write_text("")

    code = main(words)

    shown = capsys.readouterr()
    assert code == 2
    assert shown.out == ""
    assert shown.err.startswith("torchwhy: ")
    assert shown.err.endswith(f"[{slug}]\n")
    assert shown.err.count("\n") == 1
    assert fragment in shown.err
    assert not (here / ".torchwhy").exists()


def test_every_slug_has_its_section_in_the_docs():
    source = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    slugs = set(re.findall(r'slug="([^"]+)"', source)) | {"internal-error"}
    sections = re.findall(
        r"^## (\S+)$", (ROOT / "docs" / "errors.md").read_text(), flags=re.MULTILINE
    )

    assert sorted(sections) == sorted(slugs)


def test_a_syntax_error_is_shown_as_python_shows_it_and_nothing_is_started(workshop):
    workshop.write("bad.py", "x = 1\nprint('half'\n")

    plain = workshop.plain("bad.py")
    watched = workshop.watched("bad.py")

    assert watched.err.startswith(plain.err.replace(f"{workshop.folder}/", ""))
    assert watched.err.splitlines()[-1] == (
        "torchwhy: bad.py:2 is not valid Python: '(' was never closed. [syntax-error]"
    )
    assert watched.code == 2
    assert not (workshop.folder / ".torchwhy").exists()


def test_a_healthy_run_prints_one_line_and_writes_a_report(records):
    workshop = records("healthy")

    ended = workshop.watched("train.py")

    assert ended.out == "trained\n"
    facts = json.loads((workshop.run_directory / "report.json").read_text())
    made = sum(check["answer"] != "could-not-ask" for check in facts["checks"])
    assert ended.err == (
        f"torchwhy: nothing found in 12 steps ({made} of {len(facts['checks'])} checks could be made; "
        "`torchwhy report --checks` lists them).\n"
    )
    assert (facts["outcome"], facts["steps"], facts["root_cause"]) == ("healthy", 12, None)


def test_a_failure_is_reported_with_its_cause(records):
    workshop = records("replayed_in_place")

    ended = workshop.watched("--json", "copy.json", "train.py", "--lr", "3")

    assert ended.out == "trained\n"
    assert ended.err.startswith("torchwhy: training broke ──")
    assert "2 │ loss = torch.log(p) if False" in ended.err
    assert "  │        ^^^^^^^^^^^^\n" in ended.err
    copy = json.loads((workshop.folder / "copy.json").read_text())
    assert copy == json.loads((workshop.run_directory / "report.json").read_text())
    assert copy["findings"][0]["detector"] == "log-of-nonpositive"
    assert copy["findings"][0]["certainty"] == "replayed"
    assert copy["command"] == ["train.py", "--lr", "3"]


def test_report_silences_a_cause_of_a_recorded_run(records, capsys, monkeypatch):
    workshop = records("replayed_in_place")
    first = workshop.watched("train.py")
    monkeypatch.chdir(workshop.folder)

    assert main(["report", "--allow", "log-of-nonpositive", "-f", "json"]) == 0

    facts = json.loads(capsys.readouterr().out)
    stored = json.loads((workshop.run_directory / "report.json").read_text())
    assert "log-of-nonpositive" in first.err
    assert [one["detector"] for one in facts["silenced"]] == ["log-of-nonpositive"]
    assert facts["findings"][0]["facts"]["kind"] == "allowed-alarm"
    assert (facts["cost"], stored["silenced"]) == (stored["cost"], [])


@pytest.mark.parametrize(
    ("recording", "level", "code"),
    [
        ("replayed_in_place", "error", 65),
        ("replayed_in_place", "warning", 65),
        ("healthy", "warning", 0),
    ],
)
def test_fail_on_gives_65(records, recording, level, code):
    assert records(recording).watched("--fail-on", level, "train.py").code == code


@pytest.mark.parametrize(("choice", "code"), [("stop", 1), ("skip", 0), ("continue", 0)])
def test_success_after_a_withheld_update_is_no_success_unless_asked_for(records, choice, code):
    assert records("replayed_in_place").watched("--on-failure", choice, "train.py").code == code


def test_quiet_prints_nothing_and_still_reports(records):
    workshop = records("seen_only_when_run_again")

    ended = workshop.watched("--quiet", "--on-failure", "skip", "train.py")

    assert ended.err == ""
    assert (workshop.run_directory / "report.json").exists()
    assert read_run(workshop.run_directory).on_failure == "skip"


def test_a_failure_that_was_not_seen_is_run_again(records):
    workshop = records("seen_only_when_run_again")

    ended = workshop.watched("train.py")

    assert ended.out == "trained\n"
    assert ended.err.splitlines()[0] == (
        "torchwhy: running the program again up to step 4 to find where the bad value appears: "
        "your files stay as they are, what it does over the network is repeated (`--no-rerun` forbids it)."
    )
    assert "error[log-of-nonpositive]: " in ended.err
    assert "seen again in a replay" in ended.err
    again = workshop.run_directory / "rerun"
    assert (again / "output.txt").read_text() == "trained\n"
    first, second = read_run(workshop.run_directory), read_run(again)
    assert second.rerun_step == 4
    assert second.hash_seed == first.hash_seed
    assert second.command == first.command


def test_no_rerun_is_obeyed_and_said(records):
    workshop = records("never_seen")

    ended = workshop.watched("--no-rerun", "train.py")

    assert not (workshop.run_directory / "rerun").exists()
    assert "--no-rerun forbids a second run" in ended.err
    assert json.loads((workshop.run_directory / "report.json").read_text())["outcome"] == "failed"


def test_a_second_run_that_sees_nothing_is_said(records):
    workshop = records("never_seen")

    ended = workshop.watched("train.py")

    assert "the second run ended with exit code 0 before it came to step 4" in ended.err


def test_a_stored_run_is_shown_again_by_any_part_of_its_name(records, monkeypatch, capsys):
    workshop = records("replayed_in_place")
    workshop.watched("train.py")
    monkeypatch.chdir(workshop.folder)
    monkeypatch.setenv("COLUMNS", "100")
    name = workshop.run_directory.name

    shown = []
    for words in ([], [name], [name[:16]], [name[-4:]], [f".torchwhy/runs/{name}"]):
        assert main(["report", *words]) == 0
        shown.append(capsys.readouterr().out)

    assert len(set(shown)) == 1
    assert shown[0].startswith("torchwhy: training broke ──")
    assert main(["report", "-f", "json"]) == 0
    stored = json.loads((workshop.run_directory / "report.json").read_text())
    assert json.loads(capsys.readouterr().out) == stored


def test_a_run_whose_supervisor_was_killed_is_still_reported(records, monkeypatch, capsys):
    workshop = records("replayed_in_place")
    workshop.watched("train.py")
    (workshop.run_directory / "report.json").unlink()
    write_run(workshop.run_directory, Run(("train.py",), str(workshop.folder)))
    with (workshop.run_directory / "rank0.jsonl").open("a") as trace:
        trace.write('{"event":"step","st')
    monkeypatch.chdir(workshop.folder)

    assert main(["report"]) == 0

    assert "log-of-nonpositive" in capsys.readouterr().out


def test_an_unreadable_trace_is_one_sentence(here, capsys):
    directory = here / ".torchwhy" / "runs" / "20260131T120000Z-train-0000"
    directory.mkdir(parents=True)
    write_run(directory, Run(("train.py",), str(here)))
    (directory / "rank0.jsonl").write_text('{"event":"nonsense"}\n{"event":"end","steps":1}\n{}\n')

    code = main(["report"])

    shown = capsys.readouterr()
    assert code == 2
    assert shown.err.count("\n") == 1
    assert shown.err.endswith("[unreadable-trace]\n")


def test_a_fault_of_ours_keeps_the_exit_code_of_the_program(here, monkeypatch, capfd):
    (here / "quit.py").write_text("import sys; sys.exit(7)")

    def fail(*_arguments, **_options):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr("torchwhy.pipeline.diagnose", fail)

    code = main(["run", "quit.py"])

    shown = capfd.readouterr().err
    assert code == 7
    assert shown.count("\n") == 1
    assert shown.endswith("[internal-error]\n")
    (details,) = here.glob(".torchwhy/runs/*/report-failure.txt")
    assert "ZeroDivisionError: ours" in details.read_text()


def test_a_report_that_cannot_be_written_keeps_the_exit_code_of_the_program(here, capfd):
    (here / "quit.py").write_text("import os, sys; os.mkdir('taken.json'); sys.exit(7)")

    code = main(["run", "--json", "taken.json", "quit.py"])

    assert code == 7
    assert capfd.readouterr().err.endswith("[cannot-write-report]\n")


def test_help_names_every_command_and_version_the_version(capsys):
    for words in ([], ["--help"], ["run", "--help"], ["report", "-h"], ["--version"]):
        try:
            code = main(words)
        except SystemExit as done:
            code = done.code
        assert code == 0
    shown = capsys.readouterr().out

    assert all(f"\n    {name} " in shown for name in ("run", "report", "explain", "doctor"))
    assert "torchwhy run [options] PROGRAM" in shown


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from torchwhy.commands import main; main([]);"
        "print({'torch', 'rich', 'msgspec', 'numpy', 'importlib.metadata'} & set(sys.modules))"
    )

    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert shown.stdout.endswith("set()\n")


def test_doctor_tries_a_real_child(capsys):
    code = main(["doctor"])

    lines = capsys.readouterr().out.splitlines()
    assert code == 0, lines
    assert lines[0].startswith("ok       Python 3.")
    assert lines[1].startswith("ok       torch 2.")
    assert lines[2] == "ok       torchwhy watches programs that import torch"
    assert (
        lines[-1]
        == f"ok       all {len(FEATURES)} private features of torch and Python are present"
    )


def test_doctor_tells_what_is_lost_with_a_private_name():
    missing = {"engine": [], "frames": ["sys._getframe"]}

    lines = list(feature_lines(missing, verbose=False))

    assert lines == [
        "ok       1 of 2 private features of torch and Python are present",
        f"missing  frames: {FEATURES['frames'].lost}",
        "             sys._getframe",
    ]


def test_doctor_knows_that_an_accelerator_may_be_of_no_use(monkeypatch):
    monkeypatch.setattr("torchwhy.observe.native.records.fast", object())

    assert "built" in check_accelerator({"tensor-exchange": []})[1]
    assert check_accelerator({"tensor-exchange": ["torch.Tensor._x"]})[1].startswith(
        "no accelerator (this torch does not expose its tensors to C code)"
    )


def test_doctor_lists_the_whole_table_when_asked():
    lines = list(feature_lines({name: [] for name in FEATURES}, verbose=True))

    assert lines[0].startswith("ok       all ")
    assert len(lines) == 1 + 2 * len(FEATURES)
    assert f"present  engine: without it {FEATURES['engine'].lost}" in lines
    assert "             torch.Tensor._version (in torch 2.4 and newer)" in lines


def test_the_public_api_reads_a_run(records):
    import torchwhy

    workshop = records("replayed_in_place")
    workshop.watched("train.py")

    report = torchwhy.load(workshop.run_directory)

    assert isinstance(report, torchwhy.Report)
    assert isinstance(report.root_cause, torchwhy.Finding)
    assert report.root_cause.detector == "log-of-nonpositive"
    with pytest.raises(AttributeError):
        torchwhy.nonsense  # noqa: B018
