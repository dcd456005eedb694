"""`torchwhy check`: what it runs, prints and leaves behind, beside a torch that is one line long."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.guest import SOURCE, Workshop
from tests.support.recording import RECORDING_WIRE
from torchwhy.record.run_file import read_run

# Writes wherever it can, as programs do.
WRITES = """
import torch, os, sys
with open("weights.pt", "w") as file:
    file.write("changed")
os.makedirs("logs/run1", exist_ok=True)
print("trained", *sys.argv[1:])
"""


class Checked(Workshop):
    """A workshop whose programs are checked."""

    @property
    def environment(self) -> dict[str, str]:
        environment = super().environment
        environment["PYTHONPATH"] += os.pathsep + str(SOURCE.parent)
        return environment

    def check(self, *words: str):
        return self.run([*self.torchwhy, "check", *words])


@pytest.fixture
def records(tmp_path):
    def make(name: str, program: str = WRITES) -> Checked:
        workshop = Checked(tmp_path)
        workshop.sitecustomize(RECORDING_WIRE.format(name=name))
        workshop.write("train.py", program)
        return workshop

    return make


def headline(text: str) -> str:
    return next(line for line in text.splitlines() if line.startswith("torchwhy check"))


def test_a_healthy_program_gives_a_checklist_without_a_no_and_stays_as_it_is(records):
    workshop = records("healthy")
    workshop.write("weights.pt", "precious")
    before = sorted(path.name for path in workshop.folder.iterdir())

    ended = workshop.check("train.py", "--lr", "3")

    assert ended.code == 0
    assert headline(ended.out).startswith("torchwhy check train.py: ")
    assert ", 0 not, " in headline(ended.out)
    assert "✗" not in ended.out
    assert "✓ finite numbers: 12 steps" in ended.out
    assert "your files stay as they are" in ended.err
    assert (workshop.folder / "weights.pt").read_text() == "precious"
    after = sorted(path.name for path in workshop.folder.iterdir())
    assert set(after) - set(before) <= {".torchwhy", "__pycache__"}


def test_the_run_says_that_it_is_a_rehearsal_and_can_be_shown_again(records):
    workshop = records("healthy")

    first = workshop.check("train.py", "--lr", "3")
    again = workshop.run([*workshop.torchwhy, "report", "--checks"])

    facts = json.loads((workshop.run_directory / "run.json").read_text())
    assert facts["options"]["rehearsal_steps"] == 200
    assert facts["command"] == ["train.py", "--lr", "3"]
    assert facts["directory"] == str(workshop.folder)
    assert (workshop.run_directory / "output.txt").read_text() == "trained --lr 3\n"
    assert again.out == first.out


def test_a_file_on_standard_input_is_read(records):
    workshop = records("healthy", "import torch, sys\nprint(sys.stdin.read())\n")
    workshop.write("data.txt", "1 2 3")

    workshop.run(["sh", "-c", f"{' '.join(workshop.torchwhy)} check train.py < data.txt"])

    assert (workshop.run_directory / "output.txt").read_text() == "1 2 3\n"


def test_a_module_is_checked(records):
    workshop = records("healthy")
    workshop.write("package/__init__.py", "")
    workshop.write("package/train.py", WRITES)

    ended = workshop.check("-m", "package.train", "--epochs", "2")

    assert headline(ended.out).startswith("torchwhy check -m package.train: ")
    assert (workshop.run_directory / "output.txt").read_text() == "trained --epochs 2\n"


def test_what_is_wrong_comes_first_and_is_reported_below(records):
    workshop = records("replayed_in_place")

    ended = workshop.check("--json", "report.json", "train.py")

    lines = ended.out.splitlines()
    listed = lines.index(headline(ended.out)) + 1
    assert lines[listed].startswith("  ✗ ")
    assert "train.py:2" in "".join(lines[listed : listed + 3])
    assert "[log-of-nonpositive]" in "".join(lines[listed : listed + 3])
    assert "error[log-of-nonpositive]" in ended.out
    assert ended.code == 0
    assert json.loads((workshop.folder / "report.json").read_text())["outcome"] == "failed"


@pytest.mark.parametrize(
    ("recorded", "level", "code"),
    [
        ("healthy", "warning", 0),
        ("replayed_in_place", "error", 65),
        ("replayed_in_place", "warning", 65),
    ],
)
def test_fail_on_gives_65(records, recorded, level, code):
    assert records(recorded).check("--fail-on", level, "train.py").code == code


def test_a_program_that_crashes_is_listed_with_its_exit(records):
    workshop = records("healthy", "import torch\nraise ValueError('no data')\n")

    ended = workshop.check("train.py")

    assert ended.code == 0
    assert "the program itself ended with exit code 1" in ended.out
    assert "ValueError: no data" in (workshop.run_directory / "output.txt").read_text()


def test_a_program_without_training_says_so(records):
    workshop = records("healthy", "print('no torch here')\n")

    ended = workshop.check("train.py")

    assert ended.code == 0
    assert "nothing was watched" in ended.out
    assert " 0 fine, 0 not, " in headline(ended.out)
    assert len(ended.out.splitlines()) == 2


def test_the_page_and_the_data_are_chosen_as_for_run(records):
    workshop = records("healthy", "print('no torch here')\n")

    ended = workshop.check("--html", "page.html", "--no-data", "train.py")

    assert ended.code == 0
    assert (workshop.folder / "page.html").read_text().startswith("<!doctype html>")
    assert not read_run(workshop.run_directory).keeps_data


@pytest.mark.parametrize(
    ("words", "slug"),
    [
        (["absent.py"], "[no-such-script]"),
        ([], "[no-program]"),
        (["--limit", "no", "train.py"], "[wrong-option]"),
        (["--json", "absent/report.json", "train.py"], "[cannot-write-report]"),
    ],
)
def test_bad_input_is_one_sentence(records, words, slug):
    workshop = records("healthy")

    ended = workshop.check(*words)

    assert ended.code == 2
    assert ended.err.splitlines()[-1].endswith(slug)
    assert not (workshop.folder / ".torchwhy").exists()


def test_the_limit_is_kept(records):
    workshop = records("healthy", "import torch, time\ntime.sleep(600)\n")
    began = time.monotonic()

    ended = workshop.check("--limit", "2", "train.py")

    assert time.monotonic() - began < 25
    assert "the program was stopped at the limit; `--limit SECONDS` gives it more." in ended.out
    assert headline(ended.out)
    assert ended.code == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_check_and_what_is_known_is_listed(records, number):
    waits = "import torch, time\nopen('here', 'w')\nprint('here', flush=True)\ntime.sleep(600)\n"
    workshop = records("healthy", waits)
    process = started(workshop)
    wait_for_output(workshop, "*/output.txt")

    process.send_signal(number)
    out, _ = process.communicate(timeout=60)

    assert process.returncode == -number
    assert "the check was interrupted" in out
    assert headline(out)
    assert (workshop.run_directory / "report.json").exists()
    assert not (workshop.folder / "here").exists()


def test_a_signal_ends_the_further_runs(records):
    waits = (
        "import torch, os, time\n"
        "if 'seed-' in os.environ['TORCHWHY_RUN']:\n"
        "    print(os.getpid(), flush=True)\n"
        "    time.sleep(600)\n"
    )
    workshop = records("not_learning", waits)
    process = started(workshop)
    wait_for_output(workshop, "*/seed-1/output.txt")

    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)

    assert process.returncode == -signal.SIGTERM
    assert "the check was interrupted" in out
    assert "✓ finite numbers: 60 steps" in out
    (output,) = workshop.run_directory.glob("seed-1/output.txt")
    assert not Path("/proc", output.read_text().strip()).exists()


def started(workshop: Checked) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*workshop.torchwhy, "check", "train.py"],
        cwd=workshop.folder,
        env=workshop.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_output(workshop: Checked, pattern: str) -> None:
    runs = workshop.folder / ".torchwhy" / "runs"
    deadline = time.monotonic() + 60
    while not any(path.read_text() for path in runs.glob(pattern)):
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("columns", [80, 120])
def test_the_checklist_fits_the_screen(records, monkeypatch, columns):
    workshop = records("replayed_in_place")
    monkeypatch.setenv("COLUMNS", str(columns))

    ended = workshop.check("train.py")

    listed = [line for line in ended.out.splitlines() if not line.startswith("torchwhy")]
    unbroken = ("next: ", "  The ", "    state = ", "    for name", "    torch.")  # for copying
    assert max(len(line) for line in listed if not line.startswith(unbroken)) <= columns
    signs = [line[2] for line in listed if line[:2] == "  " and line[2:3] in ("✗", "✓", "–")]
    assert signs[0] == "✗"
    wrapped = [line for line in listed[: len(signs)] if line[:4] == "    "]
    assert all(line[4] != " " for line in wrapped)


def test_a_run_that_did_not_learn_offers_a_check(records):
    workshop = records("not_learning", "import torch\n")

    offered = workshop.watched("train.py", "--lr", "3")
    checked = workshop.run([*workshop.torchwhy, "run", "--check", "train.py"])

    line = "next: torchwhy check train.py --lr 3 (asks by experiment whether it can learn)"
    assert offered.err.splitlines()[-1].strip() == line
    assert headline(checked.err).startswith("torchwhy check train.py: ")
    assert checked.code == 0
