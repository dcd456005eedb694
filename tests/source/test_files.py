"""Files of the program: their text, their names, their fingerprints."""

from __future__ import annotations

import hashlib
import linecache

from torchwhy.source import files


def test_fingerprint_is_that_of_the_bytes_on_disk_also_with_carriage_returns(tmp_path):
    path = tmp_path / "windows.py"
    path.write_bytes(b"x = 1\r\ny = 2\r\n")

    source = files.loaded(str(path))

    assert source.text == "x = 1\ny = 2\n"
    assert (
        files.fingerprint_of(str(path), source.text)
        == hashlib.sha256(path.read_bytes()).hexdigest()
    )


def test_file_changed_since_it_was_read_keeps_its_text_and_gets_another_fingerprint(tmp_path):
    path = tmp_path / "edited.py"
    path.write_text("x = 1\n")
    before = files.loaded(str(path))
    path.write_text("x = 2\n")

    assert files.loaded(str(path)).text == before.text == "x = 1\n"
    on_disk = hashlib.sha256(path.read_bytes()).hexdigest()
    assert files.fingerprint_of(str(path), before.text) != on_disk


def test_declared_encoding_is_read(tmp_path):
    path = tmp_path / "latin.py"
    path.write_bytes("# coding: latin-1\nname = 'ü'\n".encode("latin-1"))

    assert "ü" in files.loaded(str(path)).text


def test_cell_of_a_notebook_has_a_text():
    name = "<ipython-input-1-abc>"
    linecache.cache[name] = (5, None, ["x = 1\n"], name)

    source = files.loaded(name)

    assert (source.file, source.text) == (name, "x = 1\n")


def test_missing_file_is_none(tmp_path):
    assert files.loaded(str(tmp_path / "none.py")) is None


def test_scope_of_a_code_object_is_its_own_function():
    def decorated(function):
        return function

    @decorated
    def inner():
        return 1

    scope = files.scope_of(inner.__code__)

    assert scope.name == "inner"
    assert files.span_in(inner.__code__, scope.body[0]).expression == "return 1"


def test_last_line_without_an_end_is_no_change(tmp_path):
    path = tmp_path / "unended.py"
    path.write_bytes(b"x = 1")

    source = files.loaded(str(path))

    assert files.fingerprint_of(str(path), source.text) == hashlib.sha256(b"x = 1").hexdigest()
