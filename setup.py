"""Builds the accelerator where there is a compiler; where there is none, torchwhy is installed without it.

TORCHWHY_NATIVE=none builds the pure wheel, TORCHWHY_NATIVE=required fails if the accelerator cannot be built.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from setuptools import Extension, setup

NATIVE = Path("src/torchwhy/observe/native")
WISH = os.environ.get("TORCHWHY_NATIVE", "if possible")

accelerator = Extension(
    "torchwhy.observe.native._fast",
    sources=sorted(str(path) for path in NATIVE.rglob("*.c")),
    depends=[str(NATIVE / "fast.h")],
    extra_compile_args=[] if sys.platform == "win32" else ["-O3"],
    optional=WISH != "required",
)
setup(ext_modules=[] if WISH == "none" else [accelerator])
