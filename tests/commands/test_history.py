"""`torchwhy runs`, `clean`, and reports by the name of a script."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest

from torchwhy.commands import main
from torchwhy.commands.history.recorded_runs import find_run, known_runs
from torchwhy.errors import TraceError
from torchwhy.observe.run_directories import RUNS_FOLDER
from torchwhy.record.events import RunStarted, Step
from torchwhy.record.run_file import Run, sealed, write_run


def record(day: int, *command: str, exit_code: int | None = 0, seal: bool = True) -> Path:
    name = f"202601{day:02}T120000Z-train-00{day:02}"
    directory = (RUNS_FOLDER / name).absolute()
    directory.mkdir(parents=True)
    run = Run(command=command or ("train.py",), directory=str(Path.cwd()), exit_code=exit_code)
    write_run(directory, sealed(directory, run) if seal else run)
    started = RunStarted(
        schema=1, pid=os.getpid(), rank=0, world_size=1, argv=[], directory=str(Path.cwd()),
        python="3", torch="2", started_unix_seconds=0.0,
    )  # fmt: skip
    steps = [
        Step(step=step, optimizer=0, losses=[1.0 / (step + 1)], milliseconds=1.0)
        for step in range(4)
    ]
    lines = [msgspec.json.encode(event) + b"\n" for event in (started, *steps)]
    (directory / "rank0.jsonl").write_bytes(b"".join(lines))
    return directory


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_runs_are_listed_newest_first(here, capsys):
    record(1, "train.py", "--lr", "3")
    record(2, "other.py", exit_code=None)
    damaged = record(3)
    (damaged / "report.json").write_text("{")

    assert main(["runs"]) == 0

    title, *lines = capsys.readouterr().out.splitlines()
    assert title.split()[:2] == ["id", "when"]
    assert [line.split()[0] for line in lines] == ["0003", "0002", "0001"]
    assert [line.split()[3] for line in lines] == ["unreadable", "running", "healthy"]
    assert lines[2].endswith("train.py --lr 3")


def test_the_list_is_data_for_machines(here, capsys):
    record(1, "train.py", "--token", "abc123secret")

    assert main(["runs", "-f", "json"]) == 0

    (row,) = json.loads(capsys.readouterr().out)
    assert (row["outcome"], row["steps"], row["root_cause"]) == ("healthy", 4, None)
    assert "abc123secret" not in str(row)


def test_a_long_list_is_cut_and_says_so(here, capsys):
    for day in (1, 2, 3):
        record(day)

    main(["runs", "-n", "2"])

    assert "and 1 older; `torchwhy runs -n 3`" in capsys.readouterr().out


def test_no_run_is_a_sentence(here, capsys):
    assert main(["runs"]) == 0
    assert capsys.readouterr().out == "No run is recorded here.\n"


def test_a_run_is_found_by_its_script(here):
    first, second = record(1, "src/train.py"), record(2, "-m", "package.train")
    third = record(3, "src/train.py", "--config", "other.py")

    for name in ("train.py", "src/train.py", "./src/train.py", "train"):
        assert find_run(name).name == third.name
    assert find_run("package.train").name == second.name
    assert find_run("0001").name == first.name


def test_a_folder_that_bears_the_name_of_the_script_is_in_nobody_s_way(here):
    directory = record(1, "train.py")
    (here / "train").mkdir()

    assert find_run("train").name == directory.name
    assert find_run(str(directory)) == directory


def test_a_module_is_found_by_its_last_part(here):
    directory = record(1, "-m", "package.train")

    assert find_run("train").name == directory.name
    with pytest.raises(TraceError):
        find_run("package")


@pytest.mark.parametrize(
    ("name", "fragment"),
    [("trian.py", "did you mean train.py?"), ("zzz.py", "`torchwhy run zzz.py` records one")],
)
def test_a_script_without_a_run_is_one_sentence(here, name, fragment):
    record(1)

    with pytest.raises(TraceError) as caught:
        find_run(name)

    assert caught.value.slug == "unknown-run"
    assert fragment in caught.value.message


def test_cleaning_keeps_the_newest_and_says_what_it_removed(here, capsys):
    directories = [record(day) for day in (1, 2, 3)]

    assert main(["clean", "--keep", "1"]) == 0

    shown = capsys.readouterr().out
    assert [path for path in directories if path.exists()] == directories[2:]
    assert all(f"removed  {path.name}\n" in shown for path in directories[:2])
    assert "2 runs removed" in shown


def test_a_dry_run_removes_nothing(here, capsys):
    directory = record(1)

    assert main(["clean", "--keep", "0", "--dry-run"]) == 0

    assert directory.exists()
    assert f"would remove  {directory.name}" in capsys.readouterr().out


def test_a_stranger_s_run_a_live_one_and_a_damaged_one_stay(here, capsys):
    strange, live, damaged = record(1, seal=False), record(2, exit_code=None), record(3)
    (damaged / "run.json").write_text("no json")

    assert main(["clean", "--keep", "0"]) == 0

    shown = capsys.readouterr().out
    assert strange.exists()
    assert live.exists()
    assert damaged.exists()
    assert "you did not record it here" in shown
    assert "it is still running" in shown


def test_no_link_is_followed(here, capsys, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "precious").write_text("x")
    directory = record(1)
    (directory / "link").symlink_to(elsewhere)
    (RUNS_FOLDER / "20250101T120000Z-train-ffff").symlink_to(record(2))

    main(["clean", "--keep", "0"])

    assert (elsewhere / "precious").exists()
    assert not directory.exists()


def test_a_linked_folder_of_runs_is_not_cleaned(here, capsys, tmp_path_factory):
    record(1)
    moved = tmp_path_factory.mktemp("moved") / "runs"
    RUNS_FOLDER.rename(moved)
    RUNS_FOLDER.symlink_to(moved)

    assert main(["clean", "--keep", "0"]) == 2

    assert capsys.readouterr().err.endswith("[linked-runs]\n")
    assert len(known_runs()) == 1


@pytest.mark.parametrize("words", [["--keep", "-1"], ["--keep", "some"], ["--keep", "1.5"]])
def test_a_wrong_number_is_one_sentence(here, capsys, words):
    assert main(["clean", *words]) == 2
    assert capsys.readouterr().err.endswith("[wrong-option]\n")


@pytest.mark.parametrize("form", ["md", "sarif", "github", "junit"])
def test_a_report_is_written_in_every_format(here, capsys, form):
    record(1)

    assert main(["report", "train.py", "-f", form]) == 0
    assert main(["report", "-f", form, "-o", "out"]) == 0

    assert Path("out").read_text(encoding="utf8") == capsys.readouterr().out != ""


def test_paths_in_annotations_are_relative_to_the_checkout(here, monkeypatch):
    from torchwhy.commands.report import checkout_of

    monkeypatch.setenv("GITHUB_WORKSPACE", str(here.parent))

    assert checkout_of(here) == here.parent
    assert checkout_of(Path("/elsewhere")) == Path("/elsewhere")


def test_the_checks_alone_are_text_or_json(here, capsys):
    record(1)

    assert main(["report", "--checks", "-f", "junit"]) == 2
    assert capsys.readouterr().err.endswith("[wrong-option]\n")
