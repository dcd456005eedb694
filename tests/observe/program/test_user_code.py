"""Whose code is it, and is it about to call something? What frameworks and installers do to both questions."""

from __future__ import annotations

import subprocess
import sys
import types

import pytest
import torch

from torchwhy.observe.probes.call_order import is_written_out
from torchwhy.observe.program import user_modules
from torchwhy.source import files


class Asked:
    """Notes the instruction at which its attribute was asked for."""

    def __get__(self, instance, owner=None):
        frame = sys._getframe(1)
        self.code, self.instruction = frame.f_code, frame.f_lasti
        return lambda *_, **__: None


class Scheduler:
    step = Asked()


def seen():
    asked = vars(Scheduler)["step"]
    return is_written_out(asked.code, asked.instruction)


def test_a_call_is_told_from_a_question():
    scheduler, given = Scheduler(), {}

    scheduler.step()
    assert seen()
    scheduler.step(*(), **given)
    assert seen()
    assert hasattr(scheduler, "step")
    assert not seen()
    getattr(scheduler, "step", None)
    assert not seen()


@pytest.fixture
def layers(monkeypatch):
    """Let the search path be another one for a while."""
    roots, torch_root = files._library_roots, files._torch_root

    def with_path(*folders):
        monkeypatch.setattr(sys, "path", [str(folder) for folder in folders])
        files.remember_torch(torch.__file__)
        return files.layer_of

    yield with_path
    files._library_roots, files._torch_root = roots, torch_root
    files.layer_of.cache_clear()


def test_packages_installed_into_a_folder_of_their_own_are_a_librarys(layers, tmp_path):
    program, target, code = (tmp_path / name for name in ("program", "target", "code"))
    for folder in (program, target, code):
        folder.mkdir()
    (target / "tool-1.0.dist-info").mkdir()
    (program / "tool-1.0.dist-info").mkdir()  # shipped with its packages beside it

    layer_of = layers(program, target, code, tmp_path / "nowhere")

    assert layer_of(str(target / "tool.py")) == "library"
    assert layer_of(str(code / "model.py")) == "user"
    assert layer_of(str(program / "train.py")) == "user"


def test_modules_of_the_program_are_found_in_folders_without_init_too(monkeypatch, tmp_path):
    parts = {}
    for name, file in (("parts_of_mine", None), ("parts_of_mine.model", tmp_path / "model.py")):
        parts[name] = types.ModuleType(name)
        if file is not None:
            parts[name].__file__ = str(file)
        monkeypatch.setitem(sys.modules, name, parts[name])

    monkeypatch.setattr(user_modules, "MOST_FILES", 10_000)  # the tests themselves are many files

    assert parts["parts_of_mine.model"] in user_modules.user_modules()
    assert str(tmp_path / "model.py") in user_modules.user_files()
    assert not any("site-packages" in file for file in user_modules.user_files())


def test_the_script_is_known_when_the_program_ends(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import atexit\nfrom torchwhy.observe.program.user_modules import user_files\n"
        "atexit.register(lambda: print(user_files()))\n"
    )

    ended = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=True
    )

    assert "train.py" in ended.stdout
