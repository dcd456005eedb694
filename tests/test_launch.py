"""The supervisor: commands, exit codes, signals, and the quiet second run."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.guest import Workshop
from torchwhy.errors import TraceError, UsageError
from torchwhy.observe.launch import (
    BOOT_FOLDER,
    child_command,
    child_environment,
    describe_run,
    run_quietly,
)
from torchwhy.observe.run_directories import make_run_directory
from torchwhy.record.run_file import Run, read_run, write_run


@pytest.fixture
def workshop(tmp_path):
    return Workshop(tmp_path)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_script_and_a_module_run_in_this_interpreter(here):
    (here / "train.py").write_text("")

    assert child_command(["train.py", "--lr", "3"]) == [sys.executable, "train.py", "--lr", "3"]
    assert child_command(["-m", "package", "x"]) == [sys.executable, "-m", "package", "x"]
    assert child_command(["-c", "pass"]) == [sys.executable, "-c", "pass"]


def test_a_script_without_suffix_runs_in_this_interpreter_unless_it_is_executable(here):
    script = here / "train"
    script.write_text("")

    assert child_command(["./train"])[0] == sys.executable

    script.chmod(0o755)
    assert child_command(["./train"]) == ["./train"]


def test_any_other_command_runs_as_it_is(here):
    assert child_command(["bash", "-c", "true"]) == ["bash", "-c", "true"]


@pytest.mark.parametrize(
    ("command", "slug"),
    [
        ([], "no-program"),
        (["-m"], "no-program"),
        (["missing.py"], "no-such-script"),
        (["no-such-command-anywhere"], "no-such-program"),
        (["folder"], "script-is-directory"),
        (["folder.py"], "script-is-directory"),
    ],
)
def test_what_cannot_run_is_refused_in_one_sentence(here, command, slug):
    (here / "folder").mkdir()
    (here / "folder.py").mkdir()

    with pytest.raises(UsageError) as refusal:
        child_command(command)

    assert refusal.value.slug == slug
    assert "\n" not in str(refusal.value)


def test_a_directory_with_a_main_file_is_a_program(here):
    (here / "package").mkdir()
    (here / "package" / "__main__.py").write_text("")

    assert child_command(["package"]) == [sys.executable, "package"]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["jobs/train.py", "--lr", "3"], "train"),
        (["-m", "package.train"], "package.train"),
        (["torchrun", "--nproc-per-node", "2", "train.py"], "train"),
        (["bash", "run it.sh"], "bash"),
        (["-c", "print(1)"], "c"),
    ],
)
def test_a_run_directory_is_named_after_the_script(here, command, name):
    directory = make_run_directory(command)

    moment, middle, token = (
        directory.name.split("-", 1)[0],
        *directory.name.split("-", 1)[1].rsplit("-", 1),
    )
    assert middle == name
    assert len(moment) == len("20260131T120000Z")
    assert len(token) == 4
    assert directory.is_absolute()
    assert (here / ".torchwhy" / ".gitignore").read_text() == "*\n"


def test_an_empty_pythonpath_does_not_become_an_entry(here, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "")

    environment = child_environment(here, describe_run(["x.py"], on_failure="stop"))

    assert environment["PYTHONPATH"] == str(BOOT_FOLDER)


def test_the_hash_seed_is_drawn_once_and_recorded(here, monkeypatch):
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)

    run = describe_run(["x.py"], on_failure="stop")

    assert run.hash_seed > 0
    assert child_environment(here, run)["PYTHONHASHSEED"] == str(run.hash_seed)


def test_the_hash_seed_of_the_user_is_kept(here, monkeypatch):
    monkeypatch.setenv("PYTHONHASHSEED", "0")

    assert describe_run(["x.py"], on_failure="stop").hash_seed == 0


def test_run_json_has_the_promised_form_and_reads_back(here):
    run = Run(("train.py",), "/home", on_failure="skip", hash_seed=3, rerun_step=7)

    write_run(here, run)

    facts = json.loads((here / "run.json").read_text())
    assert facts["schema"] == 1
    assert facts["command"] == ["train.py"]
    assert facts["directory"] == "/home"
    assert facts["options"] == {"on_failure": "skip"}
    assert facts["rerun"] == {"step": 7}
    assert "exit_code" not in facts
    assert read_run(here) == run


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 99}', "{"])
def test_a_broken_run_json_is_one_sentence(here, text):
    (here / "run.json").write_text(text)

    with pytest.raises(TraceError) as refusal:
        read_run(here)

    assert refusal.value.slug == "unreadable-trace"


@pytest.mark.parametrize("code", [0, 1, 3, 120])
def test_the_exit_code_is_the_programs_own(workshop, code):
    workshop.write("quit.py", f"import sys; sys.exit({code})")

    ended = workshop.watched("quit.py")

    assert ended.code == code
    assert read_run(workshop.run_directory).exit_code == code


def test_a_program_killed_by_a_signal_is_reported(workshop):
    workshop.write("die.py", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")

    ended = workshop.watched("die.py")

    assert ended.code == -signal.SIGKILL
    assert "SIGKILL" in ended.err
    assert read_run(workshop.run_directory).signal == signal.SIGKILL


HANDLER = """
import signal, sys, time
def handler(number, frame):
    print("got", signal.Signals(number).name, flush=True)
    sys.exit(9)
for name in sys.argv[1:]:
    signal.signal(getattr(signal, name), handler)
print("ready", flush=True)
time.sleep(20)
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT", "SIGUSR1"])
def test_a_signal_to_the_supervisor_reaches_the_program_once(workshop, name):
    workshop.write("wait.py", HANDLER)
    supervisor = workshop.start("wait.py", name, start_new_session=True)
    assert supervisor.stdout.readline() == "ready\n"

    supervisor.send_signal(getattr(signal, name))
    out, err = supervisor.communicate(timeout=20)

    assert out == f"got {name}\n"
    assert supervisor.returncode == 9
    assert "exit code 9" in err


def test_sigterm_without_a_handler_ends_both_by_the_signal(workshop):
    workshop.write("wait.py", HANDLER)
    supervisor = workshop.start("wait.py")
    assert supervisor.stdout.readline() == "ready\n"

    supervisor.terminate()
    _, err = supervisor.communicate(timeout=20)

    assert supervisor.returncode == -signal.SIGTERM
    assert "SIGTERM" in err


def test_control_c_interrupts_the_program_once_and_the_report_still_comes(workshop):
    workshop.write(
        "wait.py",
        "import sys, time\n"
        "count = 0\n"
        "try:\n"
        "    print('terminal', sys.stdin.isatty(), sys.stdout.isatty(), flush=True)\n"
        "    time.sleep(20)\n"
        "except KeyboardInterrupt:\n    count += 1\n"
        "try:\n    time.sleep(0.5)\n"
        "except KeyboardInterrupt:\n    count += 1\n"
        "print('interrupts', count)\n",
    )

    process, terminal = pty.fork()
    if process == 0:
        os.chdir(workshop.folder)
        os.execve(sys.executable, [*workshop.torchwhy, "run", "wait.py"], workshop.environment)
    shown = _read_until(terminal, b"terminal True True")
    os.write(terminal, b"\x03")
    shown += _read_until(terminal, None)
    _, status = os.waitpid(process, 0)

    assert b"interrupts 1" in shown
    assert b"torchwhy: nothing was watched" in shown
    assert os.waitstatus_to_exitcode(status) == 0


def _read_until(terminal: int, text: bytes | None) -> bytes:
    shown = b""
    while text is None or text not in shown:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # Linux says "input/output error" when the other side is gone
            break
        if not part:
            break
        shown += part
    return shown


def test_a_quiet_run_writes_its_output_to_a_file(here):
    (here / "say.py").write_text("import sys; print(sys.stdin.read() + 'hello'); sys.exit(4)")
    run = describe_run(["say.py"], on_failure="stop")

    ended = run_quietly(here, run, limit_seconds=20)

    assert (here / "output.txt").read_text() == "hello\n"
    assert ended.exit_code == 4
    assert not ended.timed_out
    assert read_run(here) == ended


def test_a_quiet_run_is_killed_with_its_children_at_the_limit(here):
    (here / "slow.py").write_text(
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(30)'])\n"
        "print(child.pid, flush=True)\ntime.sleep(30)\n"
    )
    run = describe_run(["slow.py"], on_failure="stop")
    seen = []

    ended = run_quietly(here, run, limit_seconds=1.0, progress=seen.append)

    grandchild = int((here / "output.txt").read_text())
    assert ended.timed_out
    assert ended.signal == signal.SIGKILL
    assert seen == sorted(seen)
    assert _is_gone(grandchild)


def _is_gone(process: int) -> bool:
    for _ in range(50):
        status = Path(f"/proc/{process}/stat")
        if not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


def test_a_command_that_cannot_start_is_one_sentence(workshop):
    workshop.write("broken", "#!/no/such/interpreter\n").chmod(0o755)

    ended = workshop.watched("./broken")

    assert ended.code == 2
    assert ended.err.count("\n") == 1
    assert "[cannot-start]" in ended.err


def test_a_launcher_runs_as_it_is_and_its_python_is_watched(workshop):
    workshop.sitecustomize()
    workshop.write("train.py", "import torch; print('trained')")

    ended = workshop.watched("bash", "-c", f"exec {sys.executable} train.py")

    assert ended.out == "trained\n"
    assert len(workshop.begun) == 1


def test_the_supervisor_imports_neither_torch_nor_rich_before_the_program_runs():
    code = (
        "import sys, torchwhy.commands.run; print({'torch', 'rich', 'msgspec'} & set(sys.modules))"
    )

    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout

    assert shown == "set()\n"
