"""How a step is cut out of a program, from what the run recorded of it."""

from __future__ import annotations

import ast

import pytest

from torchwhy.record.kept.kept_failure import (
    BatchKept,
    FrameKept,
    FramesKept,
    StateKept,
    VariableKept,
)
from torchwhy.reproduce.copied_statements import CannotCutError
from torchwhy.reproduce.cut_program import CutProgram, Cutter, StepFacts
from torchwhy.reproduce.names_used import names_read
from torchwhy.reproduce.program_text import judged, render
from torchwhy.source.edits import Source

SCRIPT = """\
import torch
import wandb
from nets import Net

SCALE = 3.0


def criterion(out, y):
    return ((out - y) * SCALE).pow(2).mean()


def unused():
    return SCALE


def train(net, loader, opt):
    for i, (x, y) in enumerate(loader):
        opt.zero_grad()
        seen = i + 1
        loss = criterion(net(x), y)
        loss.backward()
        opt.step()


args = read_arguments()
model = Net(args.width)
train(model, make_loader(), torch.optim.SGD(model.parameters(), 0.1))
"""


def kept(kind: str, text: str = "", number: int = 0) -> VariableKept:
    return VariableKept(kind=kind, text=text, object=number)


def facts(script: str = SCRIPT, *, line: int = 22, call: int = 27) -> StepFacts:
    inner = FrameKept(
        file="train.py",
        function="train",
        line=line,
        first_line=16,
        variables={
            "net": kept("module", "Net", 1),
            "loader": kept("loader", "DataLoader", 2),
            "opt": kept("optimizer", "SGD", 3),
            "i": kept("value", "7"),
            "x": kept("tensor", "Tensor", 4),
            "y": kept("tensor", "Tensor", 5),
        },
    )
    outer = FrameKept(file="train.py", function="<module>", line=call, first_line=1)
    globals_ = {
        "torch": kept("definition", "", 10),
        "wandb": kept("definition", "", 11),
        "Net": kept("definition", "", 12),
        "SCALE": kept("value", "3.0"),
        "criterion": kept("definition", "", 13),
        "args": kept("value", "types.SimpleNamespace(**{'width': 8})"),
        "model": kept("module", "Net", 1),
    }
    files = {
        "train.py": script,
        "nets.py": "from torch import nn\nimport helpers\n",
        "helpers.py": "",
    }
    return StepFacts(
        {name: Source(name, text) for name, text in files.items()},
        FramesKept(step=7, frames=[inner, outer], globals={"train.py": globals_}),
        StateKept(
            step=7, file="state.pt", parts={"net": "net", "opt": "opt"}, models=["net"], drawn=True
        ),
        BatchKept(step=7, file="batch.safetensors", batches=1),
    )


def cut(given: StepFacts, *, with_update: bool = False, whole: bool = False) -> CutProgram:
    return Cutter(given, with_update=with_update, whole_body=whole).cut()


def test_only_what_the_backward_pass_needs_is_left():
    text = render(cut(facts()), [], title="A step.").text

    ast.parse(text)
    assert "wandb" not in text
    assert "unused" not in text
    assert "seen" not in text
    assert "opt" not in text
    assert 'i, (x, y) = 0, kept["batch"]' in text
    assert (
        "args = types.SimpleNamespace(**{'width': 8})\nmodel = Net(args.width)\nnet = model" in text
    )
    assert 'net.load_state_dict(kept["parts"]["net"])' in text


def test_the_users_own_files_come_with_the_program():
    assert cut(facts()).copied == {"nets.py": "nets.py", "helpers.py": "helpers.py"}


def test_copied_lines_know_where_they_stood():
    made = render(cut(facts()), [], title="A step.")

    line = next(n for n, text in enumerate(made.lines, 1) if "pow(2)" in text)
    assert made.origins[line] == ("train.py", 9)


def test_the_judged_program_keeps_the_numbers_of_its_lines():
    program = cut(facts())
    made = render(program, [], title="A step.")

    lines = judged(made, program).splitlines()

    assert len(lines) == len(made.lines) + 1
    assert [n for n, line in enumerate(made.lines) if line != lines[n]] == [
        made.lines.index('torch.set_rng_state(kept["random"])')
    ]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("model = Net(args.width)", "locals().update(model=Net(8))"), "how `model`"),
        (("criterion(net(x), y)", "criterion(net(x), y) + PENALTY"), "PENALTY"),
        (("for i, (x, y) in enumerate(loader):", "if True:"), "the loop that trains"),
    ],
)
def test_what_cannot_be_cut_out_is_said(change, why):
    with pytest.raises(CannotCutError, match=why):
        cut(facts(SCRIPT.replace(*change)))


def test_no_file_is_written_outside_of_the_folder():
    given = facts(SCRIPT.replace("from nets import Net", "from package.nets import Net"))
    others = {
        "package/nets.py": Source("package/nets.py", "from ...evil import x\nimport evil\n"),
        "../evil.py": Source("../evil.py", ""),
        "/evil.py": Source("/evil.py", ""),
    }
    given.files.update(others)

    assert list(cut(given).copied.values()) == ["package/nets.py"]


def test_names_of_functions_and_comprehensions_are_their_own():
    text = "def f(a, *b):\n    c = a\n    return [d + e for d in b] + [c]\n"

    assert names_read(ast.parse(text).body[0], text) == {"e"}
    assert names_read(ast.parse("x = [y for y in z]"), "") == {"z"}
