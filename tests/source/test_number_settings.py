"""A number is changed where the user sets it: command, settings file, environment, default."""

from __future__ import annotations

import pytest

from torchwhy.detect.fixes.training.number_edits import set_number
from torchwhy.detect.fixes.training.optimizers import lower_rate
from torchwhy.source.edits import Source

ARGPARSE = """import argparse
parser = argparse.ArgumentParser()
parser.add_argument("-r", "--learning-rate", type=float, default=0.1)
parser.add_argument("--epochs", type=int, default=30)
args = parser.parse_args()
opt = SGD(net.parameters(), lr=args.learning_rate)
"""
CLICK = """@click.command()
@click.option("--lr", default=0.1)
def main(lr):
    opt = SGD(net.parameters(), lr=lr)
"""
ARGUMENTS = "import sys\nopt = SGD(net.parameters(), lr=float(sys.argv[1]))\n"
SETTINGS = (
    "cfg = load(open('conf/base.yaml'))\nopt = SGD(net.parameters(), lr=cfg['optim']['lr'])\n"
)
ENVIRONMENT = """import os
LR = float(os.environ.get("LR", "0.1"))
opt = SGD(net.parameters(), lr=LR)
"""
YAML = "model: big\noptim:\n  momentum: 0.9\n  lr: 30.0  # high\n"


def fixes(text, *command, actual=30.0, files=None, number="0.05"):
    held = dict(files or {})
    source = Source(
        "train.py", text, lambda name: Source(name, held[name]) if name in held else None, command
    )
    call = next(source.calls("SGD"))
    given = next(one.value for one in call.keywords if one.arg == "lr")
    return list(set_number(source, given, number, title="lower it", actual=actual))


@pytest.mark.parametrize(
    ("words", "changed"),
    [
        (("--learning-rate", "30"), ("--learning-rate", "0.05")),
        (("--learning-rate=30",), ("--learning-rate=0.05",)),
        (("-r", "3e1"), ("-r", "0.05")),
        (
            ("--epochs", "30", "--learning-rate", "30"),
            ("--epochs", "30", "--learning-rate", "0.05"),
        ),
    ],
)
def test_an_option_is_changed_on_the_command_line(words, changed):
    (fix,) = fixes(ARGPARSE, "train.py", *words)

    assert fix.command == ("train.py", *changed)
    assert fix.diff == ""
    assert "run with `" in fix.title


def test_options_of_other_parsers_are_found_by_name_and_number():
    assert fixes(CLICK, "train.py", "--lr", "30")[0].command == ("train.py", "--lr", "0.05")
    assert fixes(ARGUMENTS, "train.py", "30")[0].command == ("train.py", "0.05")
    hydra = fixes(SETTINGS, "train.py", "optim.lr=30")[0]
    assert hydra.command == ("train.py", "optim.lr=0.05")


def test_a_default_is_changed_if_the_command_does_not_set_the_option():
    (fix,) = fixes(ARGPARSE, "train.py", "--epochs", "3", actual=0.1)

    assert "default=0.05" in fix.diff
    assert fix.command == ()


def test_a_settings_file_is_changed_where_it_holds_the_number():
    (fix,) = fixes(SETTINGS, "train.py", files={"conf/base.yaml": YAML})

    assert "-  lr: 30.0  # high" in fix.diff
    assert "+  lr: 0.05  # high" in fix.diff
    assert fix.title == "lower it in conf/base.yaml"


def test_a_settings_file_named_in_the_command_is_found():
    text = SETTINGS.replace("'conf/base.yaml'", "sys.argv[2]")

    (fix,) = fixes(text, "train.py", "--config", "c.json", files={"c.json": '{"lr": 30}\n'})

    assert '+{"lr": 0.05}' in fix.diff


def test_yaml_gets_a_number_that_it_does_not_read_as_a_string():
    (fix,) = fixes(SETTINGS, "train.py", files={"conf/base.yaml": YAML}, number="1e-05")

    assert "+  lr: 1.0e-05" in fix.diff


def test_an_environment_variable_is_set_for_the_command():
    (fix,) = fixes(ENVIRONMENT, "train.py")

    assert fix.environment == ("LR=0.05",)
    assert fix.command == ("train.py",)


def test_a_rate_is_never_written_over_an_option():
    source = Source("train.py", ARGPARSE, command=("train.py", "--learning-rate", "30"))

    for fix in lower_rate(None, source, rate=30.0):
        assert "lr=args.learning_rate" not in fix.diff
        assert fix.command


def test_an_unknown_number_is_not_changed():
    assert fixes("opt = SGD(net.parameters(), lr=pick())\n", "train.py", "30") == []
