"""The template of a package with a cause of its own: it is installed as users install it, and its tests pass."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
def test_the_template_can_be_installed_and_its_tests_pass(tmp_path):
    for module in ("pip", "setuptools"):
        if find_spec(module) is None:
            pytest.skip(f"there is no {module} to install with")
    template, target = tmp_path / "plugin", tmp_path / "installed"
    shutil.copytree(ROOT / "examples" / "plugin", template)
    words = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]

    subprocess.run(
        [sys.executable, "-m", "pip", *words, "--target", str(target), str(template)], check=True
    )
    path = os.pathsep.join([str(target), str(ROOT / "src")])
    tested = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-k",
            "not repaired",
            "tests",
        ],
        cwd=template,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )

    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "3 passed" in tested.stdout
