"""Private names of torch and of CPython stand in the table of `torch_features`, and nowhere else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchwhy.observe.torch_features.table import FEATURES

SOURCE = Path(__file__).resolve().parents[1] / "src" / "torchwhy"
TABLE = SOURCE / "observe" / "torch_features"
NATIVE = SOURCE / "observe" / "native"
MODULES = [path for path in sorted(SOURCE.rglob("*.py")) if TABLE not in path.parents]
IN_THE_PROGRAM = ("observe", "replay")  # stages that meet torch; the others only read its words

NAMES = [spelled for feature in FEATURES.values() for spelled in feature.names]
LISTED = {re.split(r"[.:]", spelled)[-1] for spelled in NAMES}
LISTED_HIDDEN = {name for name in LISTED if name.startswith("_")}

# Names that only look private, or cannot be asked of the table.
ALLOWED = {
    "_exit": "os._exit is documented",
    "_fields": "documented for named tuples",
    "_replace": "documented for named tuples",
}
ALLOWED_IN = {
    ("observe/boot/arm.py", "_initializing"): "every process loads it, before the table could be",
    ("observe/boot/arm.py", "_load_unlocked"): "as above",
    (
        "replay/nonfinite/spoiled_values.py",
        "_foreach_norm",
    ): "the name of an operation, as the microscope sees it",
    ("replay/microscope/operations.py", "_foreach_copy_"): "as above",
}
BY_NAME = {"getattr", "hasattr", "setattr", "delattr", "attrgetter", "methodcaller", "replace"}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def private_names(text: str, *, meets_torch: bool = True) -> Iterator[tuple[int, str]]:
    """Yield line and name of every private name of somebody else that a source uses.

    That is: an attribute of anything but `self`, `cls` and `super()`, unless a class of this very file defines it; an
    import; a name given as text to `getattr` and its like, or to a hook's `replace`; and, where torch is met, any
    text that is a name of the table.
    """
    tree = ast.parse(text)
    own = set(_defined_by(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr not in own:
            if (is_private(node.attr) or node.attr in LISTED_HIDDEN) and not _is_own(node.value):
                yield node.lineno, node.attr
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((node.lineno, name) for name in _imported(node) if is_private(name))
        elif isinstance(node, ast.Call) and _called(node) in BY_NAME:
            given = [one.value for one in node.args if isinstance(one, ast.Constant)]
            texts = [one for one in given if isinstance(one, str) and is_private(one)]
            yield from ((node.lineno, name) for name in texts if name not in own)
        elif isinstance(node, ast.Constant) and node.value in LISTED_HIDDEN and meets_torch:
            yield node.lineno, str(node.value)


def _defined_by(tree: ast.Module) -> Iterator[str]:
    for kind in ast.walk(tree):
        for node in ast.walk(kind) if isinstance(kind, ast.ClassDef) else ():
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node.name
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                yield node.target.id
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                yield from [node.attr] if ast.unparse(node).startswith("self.") else []


def _is_own(holder: ast.expr) -> bool:
    if isinstance(holder, ast.Call):
        return isinstance(holder.func, ast.Name) and holder.func.id == "super"
    return isinstance(holder, ast.Name) and holder.id in ("self", "cls")


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    module = (node.module or "").split(".") if isinstance(node, ast.ImportFrom) else []
    paths = [[*module, *alias.name.split(".")] for alias in node.names]
    return [part for path in paths if path[0] not in ("torchwhy", "__future__") for part in path]


def _called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_private_names_are_used_by_way_of_the_table_only(path):
    place = path.relative_to(SOURCE)
    meets_torch = place.parts[0] in IN_THE_PROGRAM

    found = [
        (line, name)
        for line, name in private_names(path.read_text(encoding="utf8"), meets_torch=meets_torch)
        if name not in ALLOWED and (place.as_posix(), name) not in ALLOWED_IN
    ]

    assert found == [], f"in {place}: give them a row in observe/torch_features, and use that"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import torch\ntorch._C._current_autograd_node()", ["_C", "_current_autograd_node"]),
        ("from torch.utils._python_dispatch import TorchDispatchMode", ["_python_dispatch"]),
        ("import importlib._bootstrap as machinery", ["_bootstrap"]),
        ("from torch.utils.data.dataloader import _DatasetKind", ["_DatasetKind"]),
        ("import sys\nframe = sys._getframe(1)", ["_getframe"]),
        ("def written(tensor):\n    return tensor._version", ["_version"]),
        ("getattr(iterator, '_dataset', None)", ["_dataset", "_dataset"]),
        ("hooks.replace(warnings, '_showmessage', show)", ["_showmessage"]),
        ("held = vars(module).get('_buffers')", ["_buffers"]),
        ("table = torch.Tensor.__dlpack_c_exchange_api__", ["__dlpack_c_exchange_api__"]),
        ("class A:\n    def f(self, other):\n        return other._x", ["_x"]),
        ("class A:\n    def __init__(self):\n        self._x = 1\n        self._x.y._z", ["_z"]),
    ],
)
def test_a_private_name_of_somebody_else_is_found(text, names):
    assert sorted(name for _, name in private_names(text)) == sorted(names)


@pytest.mark.parametrize(
    "text",
    [
        "from torchwhy.observe.native import _fast",
        "class A:\n    def _f(self):\n        self._g = super()._g",
        "class A:\n    _x: int = 0\n    def f(self, other):\n        return other._x",
        "for _ in range(3):\n    pass",
        "x.__dict__, type(x).__mro__",
        "text = '_softmax'",
    ],
)
def test_names_of_its_own_are_a_files_own_business(text):
    assert list(private_names(text)) == []


def test_no_exception_is_granted_in_vain():
    granted = {*ALLOWED, *(name for _, name in ALLOWED_IN)}
    texts = {path: path.read_text(encoding="utf8") for path in MODULES}
    used = {
        (path.relative_to(SOURCE).as_posix(), name)
        for path, text in texts.items()
        if any(name in text for name in granted)
        for _, name in private_names(text)
    }

    assert set(ALLOWED_IN) <= used
    assert set(ALLOWED) <= {name for _, name in used}


def private_in_c(text: str) -> set[str]:
    """Return the private names in a source of the accelerator: of Python's C interface, and of Python attributes."""
    functions = re.findall(r"\b(_Py\w+|PyUnstable_\w+)", text)
    attributes = re.findall(r"\bX\((_[a-z]\w*)\)", text)
    threads = re.findall(r"PyThreadState \*(\w+)", text)
    fields = [
        f"PyThreadState.{field}"
        for one in threads
        for field in re.findall(rf"\b{one}->(\w+)", text)
    ]
    capsules = re.findall(r'PyCapsule_GetPointer\([^"]*"(\w+)"', text)
    return {*functions, *attributes, *fields, *capsules}


def test_private_names_in_c_stand_in_the_table():
    texts = [path.read_text() for path in (*NATIVE.rglob("*.c"), *NATIVE.rglob("*.h"))]
    python = "".join(path.read_text() for path in MODULES)
    found = set().union(*map(private_in_c, texts))
    in_c = {spelled.removeprefix("C ") for spelled in NAMES if spelled.startswith("C ")}

    own = {name for name in found if re.search(rf"self\.{re.escape(name)}\b", python)}

    assert found - own - LISTED_HIDDEN == in_c
    assert "_sequence_nr" in found
    assert private_in_c("_PyFrame_GetState(frame)") == {"_PyFrame_GetState"}
