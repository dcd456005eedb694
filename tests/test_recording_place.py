"""A full disk or a directory that cannot be written: the program runs all the same, and one line says what happened."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.guest import SOURCE, Workshop
from tests.support.recording import RECORDING_WIRE
from torchwhy.commands.history.recorded_runs import find_run
from torchwhy.errors import TraceError
from torchwhy.observe.run_directories import begin_recording
from torchwhy.record.run_file import Run, read_run, write_run

PROGRAM = "import torch, sys\nprint('trained')\nsys.exit(3)\n"
# Runs a command in a namespace where a folder is full or cannot be written.
IN_A_NAMESPACE = """
import os, sys
sys.path.insert(0, {source!r})
from torchwhy.confine import namespaces
from torchwhy.confine.system_calls import MS_BIND, make_read_only, mount
namespaces.enter()
for kind, folder in {mounts!r}:
    if kind == "read-only":
        mount(folder, folder, flags=MS_BIND)
        make_read_only(folder)
    else:
        mount("tmpfs", folder, "tmpfs", data="size=" + kind)
        for name, text in {files!r}.items():
            open(os.path.join(folder, name), "w").write(text)
        if kind == "64k":
            full = open(os.path.join(folder, "filler"), "wb", buffering=0)
            try:
                while True:
                    full.write(b"x" * 512)
            except OSError:
                pass
os.chdir({folder!r})
os.execv(sys.executable, {command!r})
"""


@pytest.fixture
def workshop(tmp_path):
    workshop = Workshop(tmp_path / "libraries")
    workshop.sitecustomize(RECORDING_WIRE.format(name="healthy"))
    return workshop


def run_where(workshop, folder, mounts, *words, program=PROGRAM):
    environment = workshop.environment
    libraries = str(workshop.folder)
    environment["PYTHONPATH"] += os.pathsep + str(SOURCE.parent) + os.pathsep + libraries
    code = IN_A_NAMESPACE.format(
        source=str(SOURCE),
        mounts=[(kind, str(place)) for kind, place in mounts],
        files={"train.py": program},
        folder=str(folder),
        command=[sys.executable, "-m", "torchwhy", "run", *words, "train.py"],
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("this kernel allows no namespaces")
    return done


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "train.py").write_text(PROGRAM)
    return folder


@pytest.mark.parametrize("kind", ["64k", "read-only"])
def test_a_run_is_recorded_below_the_temporary_directory(
    workshop, folder, tmp_path, kind, monkeypatch
):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))

    done = run_where(workshop, folder, [(kind, folder)])

    first, *_ = done.stderr.splitlines()
    assert done.stdout == "trained\n"
    assert done.returncode == 3
    assert first.startswith(f"torchwhy: recording in {temporary}")
    assert "because .torchwhy/runs cannot be written here" in first
    assert "Traceback" not in done.stderr
    assert list(temporary.glob("torchwhy-*/runs/*/report.json"))


@pytest.mark.parametrize("kind", ["64k", "read-only"])
def test_without_any_place_the_program_runs_unwatched(
    workshop, folder, tmp_path, kind, monkeypatch
):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    others = [("read-only", one) for one in map(Path, ("/tmp", "/var/tmp", "/usr/tmp"))]
    elsewhere = [(closed, one) for closed, one in others if one.is_dir()]

    done = run_where(workshop, folder, [*elsewhere, (kind, folder), (kind, temporary)])

    assert done.stdout == "trained\n"
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("torchwhy: the program runs unwatched, because ")


def test_a_file_in_the_way_does_not_stop_the_program(workshop, monkeypatch, tmp_path):
    workshop.write("train.py", PROGRAM)
    workshop.write(".torchwhy", "a file in the way")
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    done = workshop.watched("train.py")

    assert (done.code, done.out) == (3, "trained\n")
    assert "torchwhy: recording in " in done.err
    assert (workshop.folder / ".torchwhy").read_text() == "a file in the way"


def test_a_run_recorded_elsewhere_is_found_from_its_directory(workshop, monkeypatch, tmp_path):
    workshop.write("train.py", PROGRAM)
    workshop.write(".torchwhy", "a file in the way")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    workshop.watched("train.py")

    here = workshop.run([*workshop.torchwhy, "report"])
    monkeypatch.chdir(tmp_path)

    assert here.code == 0, here.err
    with pytest.raises(TraceError):
        find_run(None)


def test_a_limit_on_the_size_of_files_leaves_the_program_alone(workshop):
    workshop.write("train.py", PROGRAM)
    command = " ".join([*workshop.torchwhy, "run", "train.py"])

    done = workshop.run(
        ["bash", "-c", f"ulimit -f 0; {command} 2>&1 | cat; exit ${{PIPESTATUS[0]}}"]
    )

    assert done.code == 3
    assert "trained" in done.out
    assert "the program runs unwatched" in done.out
    assert "Traceback" not in done.out


def test_what_is_given_up_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "posix_fallocate", _no_space)

    with pytest.raises(Exception, match="No space left"):
        begin_recording(Run(("train.py",), str(tmp_path)))

    assert list(tmp_path.iterdir()) == []


def _no_space(*_):
    raise OSError(28, "No space left on device")


def test_the_end_of_a_run_is_noted_on_a_full_disk(tmp_path, monkeypatch):
    run = Run(("train.py",), str(tmp_path))
    write_run(tmp_path, run)
    monkeypatch.setattr(Path, "write_bytes", _no_space)

    write_run(tmp_path, Run(("train.py",), str(tmp_path), exit_code=3))

    assert read_run(tmp_path).exit_code == 3


def test_a_disk_that_fills_up_during_the_run_gives_one_line(workshop, folder, tmp_path):
    program = (
        "import torch, os, sys\n"
        "filler = open('filler', 'wb', buffering=0)\n"
        "try:\n    while True: filler.write(b'x' * 512)\n"
        "except OSError: pass\n"
        "print('trained')\nsys.exit(3)\n"
    )

    done = run_where(workshop, folder, [("3m", folder)], program=program)

    assert (done.returncode, done.stdout) == (3, "trained\n")
    assert "Traceback" not in done.stderr
    assert "This is a bug" not in done.stderr
    assert "the report is not stored: No space left on device" in done.stderr
    assert "has not ended" not in done.stderr
