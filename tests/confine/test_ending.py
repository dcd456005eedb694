"""A signal during a second run or a trial: everything ends, the report of the first run comes, nothing is left."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.guest import SOURCE, Workshop
from tests.support.recording import RECORDING_WIRE
from torchwhy.confine.confined_run import WAY_VARIABLE

# In a repeated run it tells the test who is there, and waits; one of its children has left its group.
WAITS = """
import torch, os, signal, socket, subprocess, sys, time
if "TORCHWHY_TRIAL" in os.environ:
    if "--stubborn" in sys.argv:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
    child = subprocess.Popen(["sleep", "600"])
    apart = subprocess.Popen(["sleep", "600"], start_new_session=True)
    home = socket.create_connection(("127.0.0.1", int(os.environ["PORT"])))
    home.sendall(f"{os.getpid()} {child.pid} {apart.pid}".encode())
    time.sleep(600)
"""


class Started:
    """torchwhy in the middle of a second run."""

    def __init__(self, workshop: Workshop, *words: str, way: str) -> None:
        server = socket.create_server(("127.0.0.1", 0))
        server.settimeout(60)
        environment = workshop.environment
        environment["PYTHONPATH"] += os.pathsep + str(SOURCE.parent)
        environment["PORT"] = str(server.getsockname()[1])
        environment[WAY_VARIABLE] = way
        self.process = subprocess.Popen(
            [*workshop.torchwhy, "run", "train.py", *words],
            cwd=workshop.folder,
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=_heed_hangups,  # noqa: PLW1509 (this process has no threads)
        )
        with server, server.accept()[0] as connection:
            self.repeated = [int(word) for word in connection.recv(100).split()]

    def end(self, *signals: signal.Signals) -> str:
        for number in signals:
            self.process.send_signal(number)
        return self.process.communicate(timeout=60)[1]

    def survivors(self) -> list[int]:
        deadline = time.monotonic() + 10
        while (alive := [one for one in self.repeated if _lives(one)]) and (
            time.monotonic() < deadline
        ):
            time.sleep(0.02)
        return alive


def _heed_hangups() -> None:
    """Undo what `nohup` did for the process that runs the tests."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def _lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def workshop(tmp_path):
    workshop = Workshop(tmp_path)
    workshop.sitecustomize(RECORDING_WIRE.format(name="never_seen"))
    workshop.write("train.py", WAITS)
    return workshop


@pytest.mark.parametrize("way", ["layers", "landlock", "hook"])
@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGTERM, -signal.SIGTERM),
        (signal.SIGHUP, -signal.SIGHUP),
        (signal.SIGINT, 0),  # The program itself had ended with 0.
    ],
)
def test_a_signal_ends_the_second_run_and_the_first_is_reported(workshop, way, number, code):
    started = Started(workshop, way=way)

    shown = started.end(number)

    assert started.process.returncode == code or number == signal.SIGINT
    assert "the second run was interrupted" in shown
    assert "full report " in shown
    assert started.survivors() == []
    assert (workshop.run_directory / "report.json").exists()


def test_a_second_signal_ends_everything_at_once(workshop):
    started = Started(workshop, "--stubborn", way="layers")
    scratch = [*Path("/var/tmp").glob(f"torchwhy-scratch-{started.process.pid}-*")]

    started.end(signal.SIGINT, signal.SIGTERM)

    assert started.process.returncode in (-signal.SIGINT, -signal.SIGTERM)
    assert started.survivors() == []
    assert scratch
    assert not any(folder.exists() for folder in scratch)


def test_a_killed_supervisor_leaves_no_process_behind(workshop):
    started = Started(workshop, way="layers")

    started.end(signal.SIGKILL)

    assert started.survivors() == []
    for folder in ("/var/tmp", "/tmp", "/dev/shm"):
        for scratch in Path(folder).glob(f"torchwhy-scratch-{started.process.pid}-*"):
            subprocess.run(["rm", "-rf", str(scratch)], check=True)


FIRST_RUN = """
import os, signal, socket, sys, time
home = socket.create_connection(("127.0.0.1", int(os.environ["PORT"])))
home.sendall(str(os.getpid()).encode())
time.sleep(600)
"""


def test_a_killed_supervisor_takes_the_program_along(workshop):
    workshop.write("train.py", FIRST_RUN)
    started = Started(workshop, way="layers")

    started.end(signal.SIGKILL)

    assert started.survivors() == []


def test_after_a_signal_in_the_first_run_there_is_no_second_one(workshop):
    workshop.write("train.py", f"import torch\n{FIRST_RUN}")
    started = Started(workshop, way="layers")

    shown = started.end(signal.SIGTERM)

    assert started.process.returncode == -signal.SIGTERM
    assert "running the program again" not in shown
    assert "a signal ended the run" in shown
