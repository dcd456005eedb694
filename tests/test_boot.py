"""A guest in the user's process: the program must not be able to tell."""

from __future__ import annotations

import re
import sys

import pytest

from tests.support.guest import FAKE_WIRE, Workshop


@pytest.fixture
def workshop(tmp_path):
    return Workshop(tmp_path)


LOOK_AROUND = """
import os, sys
print(__name__, __file__, __package__, __spec__ is None, __doc__)
print(sys.argv, sys.path, sys.flags, os.getcwd(), sys.orig_argv[1:])
print(sorted(vars()))
print(sys.stdin.read().upper(), hash("word"))
print(sys.modules["__main__"].__dict__ is globals(), type(__loader__).__name__)
print("to stderr", file=sys.stderr)
sys.exit(3)
"""


@pytest.mark.parametrize(
    "command", [["look.py", "--help", "-m", "x"], ["-m", "package.look", "--json"]]
)
def test_a_program_sees_what_it_would_see_without_us(workshop, command):
    workshop.write("look.py", LOOK_AROUND)
    workshop.write("package/look.py", LOOK_AROUND)

    plain = workshop.plain(*command, stdin="words")
    watched = workshop.watched(*command, stdin="words")

    assert watched.out.splitlines() == plain.out.splitlines()
    assert watched.err.startswith(plain.err)
    assert watched.code == plain.code == 3


def test_a_one_liner_sees_what_it_would_see_without_us(workshop):
    code = "import sys; print(sys.argv, sys.path, __name__)"

    assert workshop.watched("-c", code, "a").out == workshop.plain("-c", code, "a").out


@pytest.mark.parametrize(
    "failing",
    [
        "def f():\n    raise ValueError('mine')\nf()\n",
        "import torch\nraise SystemExit('bye')\n",
        "import broken_library\n",
        "import sys\nsys.path.insert(0, 'other')\nimport torch\n",
    ],
)
def test_tracebacks_hold_no_frame_of_ours(workshop, failing):
    workshop.sitecustomize()
    workshop.write("fail.py", failing)
    workshop.write("other/torch/__init__.py", "1 / 0\n")

    plain = workshop.plain("fail.py")
    watched = workshop.watched("fail.py")

    assert plain.err
    assert watched.err.startswith(plain.err)
    assert watched.code == plain.code


def test_recording_begins_once_right_after_torch_is_imported(workshop):
    workshop.sitecustomize()
    workshop.write(
        "train.py",
        "import importlib.util\n"
        "importlib.util.find_spec('torch')\n"
        "import torch, torch, sys\n"
        "print(type(torch.__spec__), torch.__loader__ is torch.__spec__.loader)\n"
        "print(type(torch.__loader__), sorted(vars(torch.__spec__)))\n"
        "print([type(finder).__name__ for finder in sys.meta_path])\n",
    )

    plain = workshop.plain("train.py")
    watched = workshop.watched("train.py")

    assert watched.out == plain.out
    assert workshop.begun == [f"{workshop.run_directory} True False"]


def test_recording_begins_also_in_a_python_that_does_not_mark_imports(workshop):
    unmarked = "from torchwhy.observe.boot import arm\narm._marks_imports = lambda: False\n"
    workshop.sitecustomize(FAKE_WIRE + unmarked)
    workshop.write("train.py", "import torch, torch, sys\nprint(torch.__loader__, sys.meta_path)\n")

    plain = workshop.plain("train.py")
    watched = workshop.watched("train.py")

    assert len(workshop.begun) == 1
    assert re.sub("0x[0-9a-f]+", "", watched.out) == re.sub("0x[0-9a-f]+", "", plain.out)


def test_an_import_of_torch_that_failed_may_be_tried_again(workshop):
    workshop.sitecustomize()
    workshop.write("other/torch/__init__.py", "raise ImportError('no driver')\n")
    workshop.write(
        "train.py",
        "import sys\n"
        "sys.path.insert(0, 'other')\n"
        "try:\n    import torch\nexcept ImportError as problem:\n    print(problem)\n"
        "del sys.path[0]\n"
        "import torch\n",
    )

    ended = workshop.watched("train.py")

    assert ended.out == "no driver\n"
    assert len(workshop.begun) == 1


def test_a_program_without_torch_loads_nothing_but_the_hook(workshop):
    workshop.write(
        "plain.py", "import sys; print([m for m in sys.modules if m.startswith('torchwhy')])"
    )

    ended = workshop.watched("plain.py")

    # Standard input is kept from the start: whether torch is used shows later.
    loaded = ["", ".observe", ".observe.boot", ".observe.boot.arm", ".observe.boot.kept_input"]
    assert ended.out.strip() in (
        str([f"torchwhy{name}" for name in loaded]),
        str([f"torchwhy{name}" for name in loaded[:-1]]),
    )
    assert "nothing was watched: no watched Python process" in ended.err


def test_the_users_own_sitecustomize_still_runs_under_its_name(workshop):
    workshop.sitecustomize("print('mine', __name__, __file__)\nvalue = 5\n")
    workshop.write("look.py", "import sitecustomize; print(sitecustomize.value)")

    plain = workshop.plain("look.py")
    watched = workshop.watched("look.py", "--")

    # The supervisor is a Python process too, so it says the first line once more.
    assert plain.out in watched.out
    assert watched.out.endswith("5\n")


def test_a_sitecustomize_that_fails_is_reported_by_the_interpreter_as_always(workshop):
    workshop.sitecustomize("raise RuntimeError('my own fault')\n")
    workshop.write("look.py", "print('ran')")

    plain = workshop.plain("look.py")
    watched = workshop.watched("look.py")

    assert "my own fault" in plain.err
    assert watched.err.startswith(plain.err * 2)
    assert watched.out == "ran\n"


def test_a_recording_that_cannot_begin_does_not_disturb_the_program(workshop):
    workshop.sitecustomize(
        FAKE_WIRE + "def begin(run): raise KeyError('ours')\nwire.begin = begin\n"
    )
    workshop.write("train.py", "import torch; print(torch.finished)")

    ended = workshop.watched("train.py")

    assert ended.out == "True\n"
    assert ended.code == 0
    assert "KeyError: 'ours'" in (workshop.run_directory / "boot-failure.txt").read_text()
    assert ended.err.count("\n") == 1
    assert "ran unwatched" in ended.err


def test_an_interpreter_without_our_dependencies_runs_the_program_in_silence(workshop):
    workshop.sitecustomize(
        "import os, sys\nif 'TORCHWHY_RUN' in os.environ:\n    sys.modules['msgspec'] = None\n"
    )
    workshop.write("train.py", "import torch; print(torch.finished)")

    ended = workshop.watched("train.py")

    assert ended.out == "True\n"
    assert "Error" in (workshop.run_directory / "boot-failure.txt").read_text()


def test_spawned_workers_can_unpickle_classes_of_the_script(workshop):
    workshop.sitecustomize()
    workshop.write(
        "spawn.py",
        "import multiprocessing, torch\n"
        "class Thing:\n    pass\n"
        "def work(thing):\n"
        "    import torch\n"
        "    return type(thing).__qualname__, type(thing).__module__, torch.finished\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(work, [Thing()]))\n",
    )

    plain = workshop.plain("spawn.py")
    watched = workshop.watched("spawn.py")

    assert watched.out == plain.out
    assert "Thing" in plain.out
    assert len(workshop.begun) == 2


def test_a_python_started_by_the_program_is_watched_too(workshop):
    workshop.sitecustomize()
    workshop.write(
        "parent.py",
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', 'import torch'], check=True)\n",
    )

    workshop.watched("parent.py")

    assert len(workshop.begun) == 1


@pytest.mark.parametrize("flag", ["-I", "-E", "-sE"])
def test_flags_that_keep_us_out_are_named(workshop, flag):
    workshop.write("train.py", "print('ran')")

    ended = workshop.watched(sys.executable, flag, "train.py")

    assert ended.out == "ran\n"
    assert f"`{flag}` makes Python ignore the environment" in ended.err
