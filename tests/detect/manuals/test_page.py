"""Manual pages: how they are read, and how a repaired program is made of a broken one."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from torchwhy.detect.manuals.page import ManualError, apply_hunks, manual_of, parse

BASE = "a = 1\nb = 2\n\nc = 3\nb = 2\n"
PAGE = """# some-cause

What is wrong.

## Broken

```python
a = 1
b = 0  # <- some-cause
```

```python
x = 0  # <- some-cause
```

## Repaired

```diff
--- broken 2
@@
-x = 0
+x = 1
```

```python
y = 1
```
"""


def test_a_page_is_read_into_name_summary_sections_and_programs():
    manual = parse(PAGE)

    assert (manual.name, manual.summary) == ("some-cause", "What is wrong.")
    assert list(manual.sections) == ["Broken", "Repaired"]
    assert [(program.section, program.number, program.text) for program in manual.programs()] == [
        ("broken", 0, "a = 1\nb = 0  # <- some-cause\n"),
        ("broken", 1, "x = 0  # <- some-cause\n"),
        ("repaired", 0, "x = 1\n"),
        ("repaired", 1, "y = 1\n"),
    ]


def test_hunks_replace_insert_and_delete_lines():
    hunks = " a = 1\n-b = 2\n+b = 20\n\n@@\n c = 3\n-b = 2\n+d = 4\n+e = 5\n"

    assert apply_hunks(BASE, hunks) == "a = 1\nb = 20\n\nc = 3\nd = 4\ne = 5\n"


@pytest.mark.parametrize(
    ("hunks", "problem"),
    [
        ("-z = 9\n+z = 8\n", "fits at 0 places"),
        ("-b = 2\n+b = 3\n", "fits at 2 places"),
        ("+z = 9\n", "fits at 0 places"),
        (" c = 3\n-b = 2\n@@\n-a = 1\n", "fits at 0 places"),
        ("-a = 1\nb = 2\n", "starts with a space"),
    ],
)
def test_a_hunk_that_does_not_fit_once_is_an_error(hunks, problem):
    with pytest.raises(ManualError, match=problem):
        apply_hunks(BASE, hunks)


@pytest.mark.parametrize("head", ["--- broken 3", "--- broken 0", "--- a/train.py", "@@"])
def test_a_diff_names_a_broken_program_of_its_page(head):
    page = parse(PAGE.replace("--- broken 2", head))

    with pytest.raises(ManualError, match="some-cause: a diff starts with"):
        page.programs()


@pytest.fixture
def foreign_detector(tmp_path):
    (tmp_path / "foreign_cause.py").write_text(
        'class Foreign:\n    """It is foreign.\n\n    More.\n    """\n\n    name = "foreign-cause"\n'
    )
    spec = importlib.util.spec_from_file_location("foreign_cause", tmp_path / "foreign_cause.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["foreign_cause"] = module
    spec.loader.exec_module(module)
    yield module.Foreign
    del sys.modules["foreign_cause"]


def test_the_page_of_a_detector_elsewhere_is_beside_its_module(tmp_path, foreign_detector):
    (tmp_path / "foreign_cause.md").write_text("# foreign-cause\n\nFrom the page.\n")

    assert manual_of(foreign_detector).summary == "From the page."


def test_a_detector_without_a_page_is_described_by_its_docstring(foreign_detector):
    manual = manual_of(foreign_detector)

    assert (manual.name, manual.summary, manual.sections) == ("foreign-cause", "It is foreign.", {})
