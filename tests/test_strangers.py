"""Run directories that somebody else made: nothing of theirs runs, is written, or steers the terminal unasked."""

from __future__ import annotations

import io
import json
import os
import pty
import shutil
import stat
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.report.examples import report
from tests.support.damaged_runs import rounds
from tests.support.findings import said
from torchwhy.commands import main
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan, Trial
from torchwhy.observe.run_directories import make_run_directory
from torchwhy.printable import printable
from torchwhy.record.run_file import Run, read_run, recorded_here, sealed, write_run
from torchwhy.record.secrets import masked_command, secrets_of
from torchwhy.report.model import Report
from torchwhy.report.text.terminal import Place, show
from torchwhy.source.files import digest

ROOT = Path(__file__).resolve().parents[1]
BEFORE, AFTER = "x = 1\n", "x = 2\n"
EVIL = "\x1b]0;owned\x07\x9b31m\u202egnp.exe\x00 naïve λ 汉字 \ud800"


def diff_of(name: str) -> str:
    return f"--- {name}\n+++ {name}\n@@ -1 +1 @@\n-{BEFORE}+{AFTER}"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with a run in it, whose cured fix changes `train.py`."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(BEFORE)
    monkeypatch.chdir(folder)
    return folder


def record(
    project: Path, *, diff: str, sources: dict[str, str] | None = None, own: bool = True
) -> Path:
    run_directory = make_run_directory(("train.py",))
    run = Run(("train.py",), str(project), exit_code=1, seconds=1.0)
    write_run(run_directory, sealed(run_directory, run) if own else run)
    cured = Fix("change it", diff=diff, trial=Trial("cured", 9, with_it="it runs"))
    place = SourceSpan("train.py", 1)
    finding = Finding(
        "log-of-nonpositive", "error", said("it broke"), location=place, fixes=(cured,)
    )
    Report(("train.py",), 3, (finding,)).store(run_directory)
    known = {"train.py": digest(BEFORE.encode())} if sources is None else sources
    (run_directory / "sources.json").write_text(json.dumps(known))
    return run_directory


def test_apply_writes_the_change_of_an_own_run(project, capsys):
    record(project, diff=diff_of("train.py"))

    assert main(["fix", "--apply", "--yes"]) == 0
    assert (project / "train.py").read_text() == AFTER


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("{outside}", "outside-project"),
        ("a/{outside}", "outside-project"),
        ("../precious.py", "outside-project"),
        ("folder/../../precious.py", "outside-project"),
        ("link.py", "outside-project"),
        ("linked/precious.py", "outside-project"),
        ("unlisted.py", "unknown-source"),
        ("loop.py", "source-changed"),
        ("pipe.py", "source-changed"),
    ],
)
def test_apply_changes_only_sources_of_the_run_in_its_directory(project, capsys, name, slug):
    precious = project.parent / "precious.py"
    precious.write_text(BEFORE)
    (project / "unlisted.py").write_text(BEFORE)
    (project / "folder").mkdir()
    (project / "link.py").symlink_to(precious)
    (project / "linked").symlink_to(project.parent)
    (project / "loop.py").symlink_to("loop.py")
    os.mkfifo(project / "pipe.py")
    name = name.format(outside=precious)
    listed = {} if slug == "unknown-source" else {name.removeprefix("a/"): digest(BEFORE.encode())}
    record(project, diff=diff_of(name), sources=listed)

    code = main(["fix", "--apply", "--yes"])

    assert code == 2
    assert f"[{slug}]" in capsys.readouterr().err
    assert precious.read_text() == (project / "unlisted.py").read_text() == BEFORE


def test_a_run_knows_whether_this_user_recorded_it_here(project, tmp_path):
    own = record(project, diff="")
    copied = tmp_path / "copied"
    shutil.copytree(own, copied)
    changed = record(project, diff="")
    facts = json.loads((changed / "run.json").read_text())
    (changed / "run.json").write_text(json.dumps({**facts, "command": ["evil.py"]}))
    open_to_all = record(project, diff="")
    open_to_all.chmod(0o777)

    assert recorded_here(own, read_run(own))
    assert not recorded_here(copied, read_run(copied))
    assert not recorded_here(changed, read_run(changed))
    assert not recorded_here(open_to_all, read_run(open_to_all))
    assert not recorded_here(own, read_run(record(project, diff="", own=False)))


@pytest.mark.parametrize(
    "words", [["fix", "--apply"], ["fix", "--apply", "--yes"], ["fix"], ["fix", "--yes"]]
)
def test_nothing_of_a_strangers_run_is_run_or_written_unasked(project, capsys, words):
    (project / "train.py").write_text(BEFORE + "open('ran', 'w')\n")
    record(project, diff=diff_of("train.py"), sources={}, own=False)
    (project / "train.py").write_text(BEFORE)
    run = record(project, diff=diff_of("train.py"), own=False)

    code = main([*words, "--run", str(run)])

    assert code == 2
    assert "[not-confirmed]" in capsys.readouterr().err
    assert (project / "train.py").read_text() == BEFORE
    assert not (run / "trials").exists()


def test_a_strangers_command_is_shown_before_it_is_run(project):
    run = record(project, diff="", own=False)
    facts = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**facts, "command": ["touch", "ran\x1b[2K\u202e"]}))

    shown = answered("n\n", "fix", "--run", str(run), folder=project)

    assert "You did not record this run here" in shown
    assert "touch 'ran[2K'" in shown
    assert "\x1b" not in shown
    assert not list(project.glob("ran*"))


def answered(answer: str, *words: str, folder: Path) -> str:
    """Return what a person at a terminal sees who answers so."""
    terminal, inner = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "torchwhy", *words],
        cwd=folder, stdin=inner, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    os.write(terminal, answer.encode())
    shown, _ = child.communicate(timeout=60)
    os.close(inner)
    os.close(terminal)
    return shown.decode()


def test_a_strangers_change_to_another_directory_is_refused(project, tmp_path, capsys):
    run = record(project, diff=diff_of("train.py"), own=False)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "train.py").write_text(BEFORE)
    facts = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**facts, "directory": str(elsewhere)}))

    assert main(["fix", "--apply", "--trust-run", "--run", str(run)]) == 2
    assert "[outside-project]" in capsys.readouterr().err
    assert (elsewhere / "train.py").read_text() == BEFORE


def test_links_in_a_run_directory_receive_nothing(project):
    precious = project / "precious.txt"
    precious.write_text("precious")
    run = record(project, diff="")
    (run / "report.json").unlink()
    (run / "report.json").symlink_to(precious)

    report().store(run)

    assert precious.read_text() == "precious"
    assert json.loads((run / "report.json").read_text())["schema"] == 1


@pytest.mark.parametrize("terminal", [False, True])
def test_control_and_bidirectional_characters_do_not_reach_the_terminal(project, terminal):
    place = SourceSpan(f"tr{EVIL}.py", 1, function=EVIL, module=EVIL, expression=EVIL)
    finding = Finding(
        EVIL, "error", said(EVIL), location=place, evidence=(Evidence(EVIL, location=place),),
        fixes=(Fix(EVIL, diff=diff_of(EVIL), trial=Trial("cured", 1, with_it=EVIL)),),
    )  # fmt: skip
    other = Finding("other", "warning", said(EVIL), location=place)
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding="utf8")
    stream.isatty = lambda: terminal  # type: ignore[method-assign]

    show(Report((EVIL,), 3, (finding, other), (EVIL,)), Place(project / EVIL, project), stream)

    shown = written.getvalue().decode()
    for sequence in ("\x1b]", "\x07", "\x9b", "\u202e", "\x00"):
        assert sequence not in shown
    assert "naïve λ 汉字" in shown
    assert ("\x1b[" in shown) == terminal


def test_errors_and_questions_are_printable_too(project, capsys):
    main(["report", EVIL.replace("\x00", "").replace("\ud800", "")])

    assert set(capsys.readouterr().err) & set("\x1b\x07\x9b\u202e") == set()
    assert printable("a\tb\nc\r\x85\u2066é") == "a\tb\ncé"


def test_a_garbage_ring_is_left_out_and_said(project, capsys):
    run = record(project, diff="")
    (run / "report.json").unlink()
    lines = [
        f'{{"event":"step","step":{n},"optimizer":0,"losses":[1.0],"milliseconds":1.0}}'
        for n in range(5)
    ]
    (run / "rank0.jsonl").write_text("\n".join(lines) + "\n")
    garbage = struct.pack("<qqdd", 9222251313613849505, 7, 1.0, 1.0) * 1024
    (run / "rank0.recent").write_bytes(garbage)

    assert main(["report"]) == 0

    shown = capsys.readouterr().out
    assert "in 5 steps" in shown
    assert "9222251313613849505" not in shown
    assert "holds no steps of this run" in shown


@pytest.mark.parametrize("name", ["run.json", "report.json", "rank0.jsonl", "rank0.recent"])
@pytest.mark.parametrize("kind", ["fifo", "sparse", "device", "loop", "folder"])
def test_what_is_not_a_file_of_ordinary_size_is_not_read(project, capsys, name, kind):
    run = record(project, diff="")
    if name.startswith("rank0"):
        (run / "report.json").unlink()
        (run / "rank0.jsonl").write_text("")
    path = run / name
    path.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "sparse":
        path.touch()
        os.truncate(path, 8_000_000_000)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero" if kind == "device" else name)

    code = main(["report", str(run)])

    shown = capsys.readouterr()
    if name == "rank0.recent":
        assert code == 0
        assert "the newest steps are left out" in shown.out
    else:
        assert code == 2
        assert shown.err.count("\n") == 1
        assert shown.err.rstrip().endswith(("[unreadable-trace]", "[unreadable-report]"))


def test_findings_that_explain_all_others_do_not_take_for_ever(project, capsys):
    run = record(project, diff="")
    facts = json.loads((run / "report.json").read_text())
    names = [f"F{n}" for n in range(1, 30)]
    (one,) = facts["findings"]
    facts["findings"] = [{**one, "id": name, "explains": names} for name in names]
    (run / "report.json").write_text(json.dumps(facts))

    assert main(["report", str(run)]) == 2
    assert "[unreadable-report]" in capsys.readouterr().err


def test_only_the_owner_may_read_the_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".torchwhy").mkdir(mode=0o755)
    before = os.umask(0)
    try:
        run = make_run_directory(("train.py",))
    finally:
        os.umask(before)

    for folder in (run, run.parent, run.parents[1]):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_linked_folder_keeps_its_mode_and_gets_no_gitignore(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir(mode=0o755)
    (tmp_path / ".torchwhy").symlink_to("elsewhere")

    make_run_directory(("train.py",))

    assert stat.S_IMODE((tmp_path / "elsewhere").stat().st_mode) == 0o755
    assert not (tmp_path / "elsewhere" / ".gitignore").exists()


@pytest.mark.parametrize(
    ("words", "masked"),
    [
        ("train.py --hf-token abc --lr 3", "train.py --hf-token *** --lr 3"),
        ("train.py --api_key=abc", "train.py --api_key=***"),
        ("env WANDB_API_KEY=abc python train.py", "env WANDB_API_KEY=*** python train.py"),
        ("train.py wandb.apiKey=a +x.client_secret=b", "train.py wandb.apiKey=*** +x.client_secret=***"),
        ("train.py --password 1234", "train.py --password ***"),
        ("train.py --url https://me:pw@host/x", "train.py --url https://me:***@host/x"),
        ("train.py https://host/x?token=abc&n=1", "train.py https://host/x?token=***&n=1"),
        ("train.py --max-tokens 512 --num-keys 8", "train.py --max-tokens 512 --num-keys 8"),
        ("train.py --tokenizer gpt2 --keypoints a", "train.py --tokenizer gpt2 --keypoints a"),
        ("train.py --token --lr 3", "train.py --token --lr 3"),
    ],
)  # fmt: skip
def test_secrets_are_masked_and_sizes_are_not(words, masked):
    assert " ".join(masked_command(words.split())) == masked


def test_secrets_inside_a_word_and_in_other_text_are_masked():
    command = ["bash", "-c", "python t.py --token s3cr3t-value", '{"password": "hunter2", "lr": 1}']

    assert masked_command(command)[2:] == (
        "python t.py --token ***",
        '{"password": "***", "lr": 1}',
    )
    assert secrets_of(command).masked("login hunter2 s3cr3t-value!") == "login *** ***!"


def test_the_process_that_started_a_command_knows_its_secrets(project):
    run_directory = make_run_directory(("train.py",))
    command = ("train.py", "--token", "s3cr3t-value")

    write_run(run_directory, Run(command, str(project)))

    assert "s3cr3t-value" not in (run_directory / "run.json").read_text()
    assert read_run(run_directory).command == command


def test_a_stored_run_with_secrets_asks_for_them_again(project, capsys):
    run_directory = make_run_directory(("train.py",))
    run = Run(("train.py", "--token", "other-s3cr3t"), str(project), exit_code=1)
    write_run(run_directory, sealed(run_directory, run))
    (run_directory / "rank0.jsonl").write_text("")

    asked = subprocess.run(
        [sys.executable, "-m", "torchwhy", "fix"], cwd=project, stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert asked.returncode == 2
    assert "`train.py --token '***'`" in asked.stderr
    assert "[masked-command]" in asked.stderr


PROGRAM = """import sys
import torch

print("the token is", sys.argv[2])
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    model(torch.randn(4, 3)).mean().backward()
    optimizer.step()
raise RuntimeError(f"the size of tensor {sys.argv[2]} is wrong")
"""


@pytest.fixture(scope="module")
def real_run(tmp_path_factory):
    """A real run directory, of a program that fails and repeats its secret."""
    folder = tmp_path_factory.mktemp("real")
    (folder / "train.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "torchwhy", "run", "train.py", "--token", "tok-0123456789"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    (run,) = (folder / ".torchwhy" / "runs").iterdir()
    return run, done


@pytest.mark.slow
def test_the_program_gets_its_secret_and_the_record_does_not(real_run):
    run, done = real_run

    assert done.stdout == "the token is tok-0123456789\n"
    stored = b"".join(path.read_bytes() for path in run.rglob("*") if path.is_file())
    assert b"tok-0123456789" not in stored
    assert b"the size of tensor ***" in stored
    assert "tok-0123456789" not in done.stderr.partition("torchwhy:")[2]


@pytest.mark.slow
def test_damaged_runs_are_answered_in_a_sentence(real_run, project):
    run, _ = real_run
    cured = record(project, diff=diff_of("train.py"))

    assert list(rounds([run, cured], seed=14, count=120)) == []
