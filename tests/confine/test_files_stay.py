"""No process that torchwhy starts beyond the first changes a file of the user."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.guest import SOURCE, Workshop
from tests.support.recording import RECORDING_WIRE
from torchwhy.confine.confined_run import (
    WAY_VARIABLE,
    WAYS,
    FileProtectedError,
    confined,
    refused_path,
    run_again,
)
from torchwhy.confine.created_files import names_below, note_created
from torchwhy.confine.scratch_folders import PREFIX
from torchwhy.record.run_file import Run, write_run

MEGABYTE = 1_000_000

# Everything here is inside the working directory, under names that exist before.
INSIDE = """
import os, shutil, sqlite3, sys
from pathlib import Path
assert os.environ["TORCHWHY_TRIAL"] == "1" and os.environ["WANDB_MODE"] == "disabled"
with open("history.csv", "a") as history:
    history.write("again\\n")
with open("large.pt", "r+b") as checkpoint:          # 60 MB, changed by the first run
    checkpoint.write(b"second")
os.remove("old.pt")
Path("runs/events.0").write_bytes(b"event")
Path("runs/events.1").write_bytes(b"event")
database = sqlite3.connect("log.db")
database.execute("insert into log values (2)")
database.commit()
os.chmod("script.sh", 0o755)
os.utime("script.sh", (1, 1))
shutil.rmtree("output")
os.makedirs("output/deep")
os.rename("model.pt", "output/model.pt")
Path("linked/inside.txt").write_text("second")       # a link to a folder elsewhere
Path("many/0001").write_text("second")               # a folder with 2500 files
Path("many/new").write_text("second")
assert not os.path.exists("made_by_first_run.pt")
assert os.path.getsize("data.bin") == 400_000_000
print("done")
"""

OUTSIDE = {
    "absolute": "open({other!r} + '/best.pt', 'w').write('second')",
    "parent": "open('../history.txt', 'a').write('second')",
    "mode": "os.chmod({other!r} + '/best.pt', 0o600)",
    "own-path": "open({own!r} + '/history.csv', 'a').write('second')",
    "truncated": "os.truncate({other!r} + '/best.pt', 0)",
    "linked": "os.symlink('/dev/null', {other!r} + '/link')",
    "data": "open('data.bin', 'r+b').write(b'second')",
    "database": "sqlite3.connect({other!r} + '/log.db').execute('create table t (x)')",
    "removed": "os.remove({other!r} + '/best.pt')",
    "appeared": "open({other!r} + '/best.pt', 'w').write('third')",
    "renamed": "os.replace({other!r} + '/best.pt', {other!r} + '/older.pt')",
    "home": "open(os.path.expanduser('~/.cached'), 'w').write('second')",
    "made": "os.mkdir({other!r} + '/new')",
    "tree": "shutil.rmtree({other!r})",
}
ATTEMPTS = """
import os, shutil, sqlite3, subprocess
for name, write in {writes}.items():
    try:
        exec(write)
        print(name)
    except OSError:
        pass
"""


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    monkeypatch.setenv(WAY_VARIABLE, request.param)
    return request.param


class Project:
    """A user's files: a program's directory, and other folders that it can reach."""

    def __init__(self, folder: Path, *, many: int) -> None:
        self.folder = folder
        self.many = many
        self.directory = folder / "home" / "project"
        self.other = folder / "elsewhere" / "checkpoints"
        self.first = self.directory / ".torchwhy" / "runs" / "first"
        self.first.mkdir(parents=True)
        self.other.mkdir(parents=True)
        self._fill()

    def _fill(self) -> None:
        inside = self.directory
        for name in ("history.csv", "old.pt", "model.pt", "script.sh", "runs/events.0", "output/x"):
            (inside / name).parent.mkdir(exist_ok=True)
            (inside / name).write_text("first\n")
        (inside / "many").mkdir()
        for number in range(self.many):
            (inside / "many" / f"{number:04}").touch()
        (self.other / "inside.txt").write_text("first\n")
        (self.other / "best.pt").write_text("first\n")
        (inside / "linked").symlink_to(self.other)
        (inside.parent / "history.txt").write_text("first\n")
        import sqlite3

        with sqlite3.connect(inside / "log.db") as database:
            database.execute("create table log (run)")
        database.close()
        _sparse(inside / "data.bin", 400 * MEGABYTE)

    def first_run(self) -> None:
        """Pretend that the program ran later: it changed one large file and made another."""
        before = names_below(self.directory)
        _sparse(self.directory / "large.pt", 60 * MEGABYTE)
        before[""].add("large.pt")
        (self.directory / "made_by_first_run.pt").write_text("first\n")
        write_run(self.first, Run(("train.py",), str(self.directory), exit_code=1, seconds=1.0))
        note_created(self.first, self.directory, before)
        for name, seconds in (("large.pt", 200), (".torchwhy/runs/first/run.json", 100)):
            os.utime(self.directory / name, (time.time() + seconds,) * 2)

    def run_again(self, text: str, **options: object) -> Run:
        (self.directory / "train.py").write_text(text)
        before = self.listing()
        place = self.first / "rerun"
        place.mkdir()
        run = Run(("train.py",), str(self.directory), hash_seed=1)
        try:
            return run_again(place, run, first=self.first, limit_seconds=60, **options)
        finally:
            self.output = (place / "output.txt").read_text()
            self.changed = _difference(before, self.listing())

    def listing(self) -> dict[str, tuple[object, ...]]:
        """Return everything about every file, but for what torchwhy records."""
        found = {}
        for folder, folders, files in os.walk(self.folder):
            folders[:] = [name for name in folders if name != ".torchwhy"]
            for name in (*folders, *files):
                path = Path(folder, name)
                facts = path.lstat()
                is_small = path.is_file() and facts.st_size < MEGABYTE
                text = hashlib.sha256(path.read_bytes()).hexdigest() if is_small else ""
                stamp = (facts.st_mode, facts.st_size, facts.st_mtime_ns, facts.st_ino, text)
                found[str(path)] = stamp
        return found


def _sparse(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)


def _difference(before, after):
    return sorted(
        path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
    )


@pytest.fixture
def project(tmp_path, monkeypatch, request):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    project = Project(tmp_path, many=2500 if "in_its_directory" in request.node.name else 5)
    project.first_run()
    return project


def test_a_program_writes_in_its_directory_and_nothing_changes(project, way):
    ended = project.run_again(INSIDE)

    assert (ended.exit_code, project.output.splitlines()[-1:]) == (0, ["done"]), project.output
    assert project.changed == []


def test_a_program_writes_elsewhere_and_nothing_changes(project, way):
    places = {"other": str(project.other), "own": str(project.directory)}
    writes = {name: write.format(**places) for name, write in OUTSIDE.items()}

    project.run_again(ATTEMPTS.format(writes=writes))

    assert project.changed == []
    done = set(project.output.split())
    if way == "layers":
        assert done == writes.keys(), project.output
    else:
        assert done == {"parent"}  # The folder around the copy is a copy, too.
        assert refused_path(project.first / "rerun") == str(project.other / "best.pt")


def test_what_c_code_wrote_unseen_is_noticed_and_named(project, monkeypatch):
    monkeypatch.setenv(WAY_VARIABLE, "hook")

    with pytest.raises(FileProtectedError) as problem:
        project.run_again(
            "import subprocess\n"
            f"subprocess.run(['sh', '-c', 'echo x >> {project.directory}/history.csv'])"
        )

    assert problem.value.path == str(project.directory / "history.csv")
    assert "history.csv" in str(problem.value)


@pytest.mark.parametrize("way", ["layers", "mounts", "landlock"], indirect=True)
def test_commands_that_are_not_python_change_nothing(project, way):
    project.run_again(
        "import subprocess\n"
        f"subprocess.run(['sh', '-c', 'echo second > {project.other}/best.pt'])\n"
        f"subprocess.run(['rm', '-r', {str(project.other)!r}])\n"
    )

    assert project.changed == []


def test_in_place_the_program_writes_its_files_as_asked(project):
    project.run_again("open('history.csv', 'a').write('second')", in_place=True)

    assert project.changed == [str(project.directory / "history.csv")]


def test_nothing_is_left_behind(project, way, monkeypatch, tmp_path):
    temporary = tmp_path / "t"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))

    project.run_again("open('new.txt', 'w').write('second')")

    assert list(temporary.iterdir()) == []
    # Other tests may run meanwhile, and have folders there.
    assert list(Path("/var/tmp").glob(f"{PREFIX}{os.getpid()}-*")) == []
    assert {path.name for path in (project.first / "rerun").iterdir()} <= {
        "run.json",
        "output.txt",
        "guard.json",
    }


def test_a_program_started_from_elsewhere_writes_beside_its_script(tmp_path, way, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    scripts, here, first = tmp_path / "scripts", tmp_path / "here", tmp_path / "first"
    for folder in (scripts, here, first):
        folder.mkdir()
    script = scripts / "train.py"
    script.write_text(
        "from pathlib import Path\n"
        "Path(__file__).with_name('best.pt').write_text('second')\n"
        "Path('log.txt').write_text('second')\n"
    )
    run = Run((str(script),), str(here), hash_seed=1, exit_code=1, seconds=1.0)
    write_run(first, run)
    (first / "rerun").mkdir()

    ended = run_again(first / "rerun", run, first=first, limit_seconds=60)

    assert ended.exit_code == 0, (first / "rerun" / "output.txt").read_text()
    assert {path.name for path in scripts.iterdir()} == {"train.py"}
    assert list(here.iterdir()) == []


def test_torch_asks_before_its_own_code_writes(project, monkeypatch):
    monkeypatch.setenv(WAY_VARIABLE, "hook")

    ended = project.run_again(
        f"import torch\ntorch.save({{}}, {str(project.other / 'best.pt')!r})\n"
    )

    assert ended.exit_code == 1
    assert project.changed == []
    assert refused_path(project.first / "rerun") == str(project.other / "best.pt")


def test_a_checkpoint_that_the_first_run_wrote_is_never_linked(project, monkeypatch):
    monkeypatch.setenv(WAY_VARIABLE, "landlock")
    place = project.first / "rerun"
    place.mkdir()
    run = Run(("train.py",), str(project.directory), hash_seed=1)

    with confined(place, run, first=project.first) as confinement:
        copy = confinement.copied[project.directory]

        assert not (copy / "large.pt").is_symlink()
        assert (copy / "large.pt").stat().st_size == 60 * MEGABYTE
        assert (copy / "data.bin").is_symlink() or (copy / "data.bin").stat().st_blocks == 0
        assert not (copy / "made_by_first_run.pt").exists()
        assert json.loads((place / "guard.json").read_text())


class TestTheWholeCommand:
    """From the words typed: the first run writes, the second run does not."""

    PROGRAM = (
        "import torch\n"
        "open('../history.csv', 'a').write('line\\n')\n"
        "open('history.csv', 'a').write('line\\n')\n"
        "import os; os.makedirs('output')\n"
    )

    def test_a_second_run_starts_from_the_same_files_and_writes_none(self, tmp_path):
        (tmp_path / "inner").mkdir()
        workshop = Workshop(tmp_path / "inner")
        workshop.sitecustomize(RECORDING_WIRE.format(name="seen_only_when_run_again"))
        workshop.write("train.py", self.PROGRAM)
        environment = workshop.environment
        environment["PYTHONPATH"] += os.pathsep + str(SOURCE.parent)

        done = subprocess.run(
            [*workshop.torchwhy, "run", "train.py"],
            cwd=workshop.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

        assert (workshop.run_directory / "rerun" / "rank0.jsonl").exists(), done.stderr
        assert (workshop.folder / "history.csv").read_text() == "line\n"
        assert (tmp_path / "history.csv").read_text() == "line\n"
        assert "your files stay as they are" in done.stderr
