"""Builds the accelerator where there is a compiler; where there is none, torchwhy is installed without it."""

from __future__ import annotations

import sys
from pathlib import Path

from setuptools import Extension, setup

NATIVE = Path("src/torchwhy/observe/native")

setup(
    ext_modules=[
        Extension(
            "torchwhy.observe.native._fast",
            sources=sorted(str(path) for path in NATIVE.rglob("*.c")),
            depends=[str(NATIVE / "fast.h")],
            extra_compile_args=[] if sys.platform == "win32" else ["-O3"],
            optional=True,
        )
    ]
)
