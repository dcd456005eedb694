"""A trial runs edited copies under the original names, and leaves the files alone."""

from __future__ import annotations

import pytest

from torchwhy.observe.launch import run_quietly
from torchwhy.record.run_file import Run, read_traces
from torchwhy.verify.edited_copies import lay

MODULE = """def answer():
    return 1
"""
SCRIPT = """import inspect, os, sys
from package.module import answer

class Thing:
    pass

if __name__ == "__main__":
    import multiprocessing, pickle
    pickle.dumps(Thing())
    print(answer(), sys.argv, __file__, __spec__ and __spec__.name, sys.path[0], os.getcwd())
    print(inspect.getsource(answer))
    child = multiprocessing.get_context("spawn").Process(target=print, args=("spawned",))
    child.start()
    child.join()
    print("original")
    raise ValueError("at the end")
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "module.py").write_text(MODULE)
    (tmp_path / "package" / "train.py").write_text(SCRIPT)
    (tmp_path / "train.py").write_text(SCRIPT)
    return tmp_path


def run_edited(program, *command):
    place = program / ".torchwhy" / "trial"
    place.mkdir(parents=True)
    edited = SCRIPT.replace("class Thing", "# one line more\nclass Thing").replace(
        "original", "edited"
    )
    texts = {
        program / "train.py": edited,
        program / "package" / "train.py": edited,
        program / "package" / "module.py": MODULE.replace("1", "2"),
    }
    lay(place, texts)
    ended = run_quietly(place, Run(command, str(program), hash_seed=1), limit_seconds=60)
    return ended, (place / "output.txt").read_text()


def test_a_script_is_edited_and_remains_the_real_main(program):
    ended, output = run_edited(program, "train.py", "--lr", "3")

    first, *rest = output.splitlines()
    assert first == f"2 ['train.py', '--lr', '3'] {program}/train.py None {program} {program}"
    assert rest[:2] == ["def answer():", "    return 2"]
    assert "spawned" in rest
    assert "edited" in rest
    assert f'File "{program}/train.py", line 17, in <module>' in output
    assert ended.exit_code == 1
    assert (program / "train.py").read_text() == SCRIPT


def test_a_module_started_with_m_is_edited(program):
    _, output = run_edited(program, "-m", "package.train", "x")

    path = f"{program}/package/train.py"
    assert output.startswith(f"2 ['{path}', 'x'] {path} package.train {program} {program}\n")
    assert "\nedited\n" in output


TRAINING = """import torch
w = torch.zeros(1, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(50):
    optimizer.zero_grad()
    (w - torch.rand(1)).pow(2).sum().backward()
    optimizer.step()
    print(step)
"""


def losses(place):
    return read_traces(place)[0].losses()


def test_a_trial_repeats_the_random_numbers_and_stops_quietly_after_its_last_step(tmp_path):
    (tmp_path / "train.py").write_text(TRAINING)
    first, trial = tmp_path / "first", tmp_path / "trial"
    for place in (first, trial):
        place.mkdir()
    run = Run(("train.py",), str(tmp_path), hash_seed=1)
    run_quietly(first, run, limit_seconds=60)
    shorter = Run(
        ("train.py",), str(tmp_path), hash_seed=1, seeds_from=str(first), stop_after_step=6
    )

    ended = run_quietly(trial, shorter, limit_seconds=60)

    assert ended.exit_code == 0
    assert losses(trial) == losses(first)[:7]
    assert (trial / "output.txt").read_text().split() == [str(step) for step in range(6)]
