"""What a release promises: one place for the version, links that lead somewhere, and no data file left behind."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

import torchwhy
from tests.support.check_links import broken_links, pages

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "torchwhy"
CODE = {".py", ".pyc", ".c", ".h", ".so", ".pyd"}


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_links_of_a_page_lead_somewhere(page):
    assert list(broken_links(page)) == []


def test_the_version_has_one_place():
    settings = (ROOT / "pyproject.toml").read_text()

    assert re.fullmatch(r"\d+\.\d+\.\d+", torchwhy.__version__)
    assert 'dynamic = ["version"]' in settings
    assert torchwhy.__version__ not in settings
    assert "\nversion:" not in (ROOT / "CITATION.cff").read_text()


def test_every_data_file_of_the_package_is_declared():
    declared = re.search(
        r"^\[tool\.setuptools\.package-data\]\ntorchwhy = \[(.*)\]",
        (ROOT / "pyproject.toml").read_text(),
        flags=re.MULTILINE,
    )
    assert declared is not None
    patterns = re.findall(r'"([^"]+)"', declared[1])

    data = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix not in CODE
    ]

    assert data
    assert [one for one in data if not any(fnmatch(one, pattern) for pattern in patterns)] == []


def test_the_readme_begins_with_how_to_install_and_run():
    text = (ROOT / "README.md").read_text()

    assert text.startswith("# torchwhy\n\n```\npip install torchwhy\ntorchwhy run train.py\n```\n")
