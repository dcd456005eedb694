"""A private name that is gone makes its feature missing, and raises nowhere."""

from __future__ import annotations

import argparse
import re
import runpy
import sys
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest
import torch
from torch import nn

import torchwhy
from torchwhy.observe.boot.overlay import Overlay
from torchwhy.observe.torch_features import interpreter, resolve
from torchwhy.observe.torch_features.interpreter import _frame_by_exception, options_with_values
from torchwhy.observe.torch_features.layer_kinds import PUBLIC
from torchwhy.observe.torch_features.resolve import ABSENT, get, missing, value_of
from torchwhy.observe.torch_features.table import FEATURES

SOURCE = Path(torchwhy.__file__).parent


@pytest.fixture
def afresh():
    """Forget what was found, before and after."""
    get.cache_clear()
    yield
    get.cache_clear()


def test_this_torch_and_this_python_have_every_feature():
    assert [(one.name, resolve.missing_names(one)) for one in missing()] == []


@pytest.mark.parametrize(
    ("spelled", "holder", "name"),
    [
        ("torch._foreach_norm", torch, "_foreach_norm"),
        ("torch._C._current_autograd_node", torch._C, "_current_autograd_node"),
        ("torch.optim.Optimizer._patch_step_function", torch.optim.Optimizer, None),
        ("torch.Tensor.__dlpack_c_exchange_api__", torch.Tensor, "__dlpack_c_exchange_api__"),
        ("sys._getframe", sys, "_getframe"),
    ],
)
def test_a_name_that_is_deleted_is_absent(spelled, holder, name, monkeypatch):
    assert value_of(spelled) is not ABSENT

    monkeypatch.delattr(holder, name or spelled.rpartition(".")[2])

    assert value_of(spelled) is ABSENT


def test_a_feature_is_missing_if_one_of_its_names_is(afresh, monkeypatch):
    monkeypatch.delattr(torch._C, "_pop_torch_dispatch_stack")

    assert [one.name for one in missing()] == ["dispatch-stack"]
    assert resolve.missing_names(FEATURES["dispatch-stack"]) == [
        "torch._C._pop_torch_dispatch_stack"
    ]


def test_what_instances_have_is_found_on_their_class():
    class Base:
        annotated: int

        def __init__(self):
            self.assigned = 1

        @property
        def described(self):
            return 2

    class Derived(Base):
        pass

    found = {
        name: resolve._is_set_by(Derived, name)
        for name in ("annotated", "assigned", "described", "other")
    }

    assert found == {"annotated": True, "assigned": True, "described": True, "other": False}


@pytest.mark.parametrize(
    "spelled",
    [
        "torch.nn.Module()._tables",
        "torch.autograd.graph._engine_run_backward:roots",
        "module torch._gone",
        "torch.gone.deeper._still",
        "no_such_package._name",
        "torch.Tensor.shape:local",
    ],
)
def test_a_name_that_never_was_is_absent(spelled):
    assert value_of(spelled) is ABSENT


def test_what_torch_raises_when_asked_makes_the_name_absent(monkeypatch):
    class Odd:
        def __getattr__(self, name):
            raise RuntimeError("deprecated")

    monkeypatch.setattr(torch, "_odd", Odd(), raising=False)

    assert value_of("torch._odd._name") is ABSENT


@pytest.mark.parametrize("feature", FEATURES.values(), ids=lambda feature: feature.name)
def test_a_row_says_who_uses_it_and_what_is_lost(feature):
    for path in feature.used_by:
        module, _, name = f"torchwhy.{path}".rpartition(".")
        try:
            holder = import_module(module)
        except ModuleNotFoundError:
            module, _, kind = module.rpartition(".")
            holder = getattr(import_module(module), kind)
        assert hasattr(holder, name), path
    assert feature.used_by
    assert feature.lost[0] in "`N" or feature.lost[0].islower()
    assert not feature.lost.endswith(".")


def test_every_feature_that_is_asked_for_has_a_row_and_every_row_is_asked_for():
    asked = set()
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf8")
        asked |= set(
            re.findall(r'(?<![.\w])(?:get|is_there|_need|_code_of)\(\s*"([a-z-]+)"\s*\)', text)
        )
        for needs in re.findall(r"^\w*NEEDS = \(([^)]*)\)", text, flags=re.MULTILINE):
            asked |= set(re.findall(r'"([a-z-]+)"', needs))
    # Those that need no asking: a method of ours that torch looks for, texts that match no frame, what is built in C.
    unasked = {"mode-and-compiler", "torch-frames", "import-state", "traced-thread"}

    assert asked == set(FEATURES) - unasked


def test_a_frame_is_the_same_by_an_exception():
    def above():
        return _frame_by_exception(0), _frame_by_exception(1), sys._getframe(0), sys._getframe(1)

    here, caller, same, same_caller = above()

    assert (here, caller) == (same, same_caller)
    with pytest.raises(ValueError, match="not deep enough"):
        _frame_by_exception(100_000)


def test_public_layers_stand_in_for_their_base_classes():
    kinds = [one for one in vars(nn).values() if isinstance(one, type)]
    for base, public in zip(get("layer-bases"), PUBLIC, strict=True):
        assert {one for one in kinds if issubclass(one, base)} == {
            one for one in kinds if issubclass(one, public)
        }


def test_a_trial_without_script_loading_ends_before_anything_is_replaced(monkeypatch):
    before = runpy._get_code_from_file, SourceFileLoader.get_code
    monkeypatch.setattr(interpreter, "is_there", lambda _: False)

    with pytest.raises(NotImplementedError, match="'script-loading'"):
        Overlay({"train.py": "edited.py"}).replace_imports()

    assert (runpy._get_code_from_file, SourceFileLoader.get_code) == before


def test_options_without_a_list_of_actions_take_no_value(monkeypatch):
    parser = argparse.ArgumentParser()
    parser.add_argument("--limit")
    parser.add_argument("--quiet", action="store_true")
    assert options_with_values(parser) == {"--limit"}

    monkeypatch.setattr(interpreter, "is_there", lambda _: False)

    assert options_with_values(parser) == set()
