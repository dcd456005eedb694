"""A trial runs in a copy of the program's directory wherever that can be."""

from __future__ import annotations

from torchwhy.verify import scratch


def test_a_copy_leaves_out_what_torchwhy_and_git_keep_and_links_data(tmp_path, monkeypatch):
    monkeypatch.setattr(scratch, "MOST_IN_A_FOLDER", 3)
    monkeypatch.setattr(scratch, "LARGEST_FILE", 100)
    program = tmp_path / "program"
    for name in (".git/config", ".torchwhy/runs/x", "train.py", "pkg/model.py", "weights.pt"):
        (program / name).parent.mkdir(parents=True, exist_ok=True)
        (program / name).write_text("x" * (500 if name == "weights.pt" else 5))
    (program / "data").mkdir()
    for number in range(5):
        (program / "data" / str(number)).write_text("sample")

    copied = scratch.copy(program, tmp_path / "copy")

    assert (tmp_path / "copy" / "train.py").read_text() == "xxxxx"
    assert not (tmp_path / "copy" / "pkg" / "model.py").is_symlink()
    assert (tmp_path / "copy" / "data").is_symlink()
    assert (tmp_path / "copy" / "weights.pt").is_symlink()
    assert not (tmp_path / "copy" / ".git").exists()
    assert not (tmp_path / "copy" / ".torchwhy").exists()
    assert copied.links == 2


def test_a_program_that_reaches_out_of_its_directory_stays_there(tmp_path):
    (tmp_path / "plain.py").write_text("open('log.txt', 'w')")
    (tmp_path / "outside.py").write_text("open('../data/x.csv')")

    assert scratch.reason_against(["plain.py", "--lr", "0.1"], tmp_path) is None
    assert "`../`" in (scratch.reason_against(["outside.py"], tmp_path) or "")
    assert scratch.reason_against(["plain.py", "--out=../x"], tmp_path) is not None
    assert scratch.reason_against(["../plain.py"], tmp_path) is not None


def test_too_many_files_are_not_copied(tmp_path, monkeypatch):
    monkeypatch.setattr(scratch, "MOST_ENTRIES", 3)
    for number in range(5):
        (tmp_path / str(number)).mkdir()

    assert "too many files" in (scratch.reason_against(["train.py"], tmp_path) or "")


def test_edited_texts_stand_in_the_copy_and_in_their_own_places(tmp_path):
    inside, outside = tmp_path / "program" / "train.py", tmp_path / "library" / "loss.py"

    places = scratch.moved({inside: "a", outside: "b"}, tmp_path / "program", tmp_path / "copy")

    assert places == {inside: "a", outside: "b", tmp_path / "copy" / "train.py": "a"}
