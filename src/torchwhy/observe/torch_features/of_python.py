"""The rows of the table that are about CPython and its standard library."""

from __future__ import annotations

from torchwhy.observe.torch_features.feature import Feature

OF_PYTHON = (
    Feature(
        "frames",
        ("sys._getframe",),
        "frames are reached by raising an exception, which takes longer",
        ("observe.torch_features.interpreter.frame_at",),
        only_time=True,
    ),
    Feature(
        "shown-warnings",
        ("warnings._showwarnmsg",),
        "NumPy's warnings of divisions by zero and overflows in data code are not noted",
        ("observe.probes.array_warnings.install",),
    ),
    Feature(
        "script-loading",
        ("runpy._get_code_from_file", "runpy._run_module_as_main"),
        "no fix is tried, because an edited copy of the program cannot be run in its place",
        ("observe.torch_features.interpreter.loading_by_runpy",),
    ),
    Feature(
        "import-state",
        ("importlib._bootstrap._load_unlocked()._initializing",),
        "a traceback out of `import torch` shows a frame of torchwhy",
        ("observe.boot.arm._tell_when_imported",),
    ),
    Feature(
        "named-tuples",
        ("collections._tuplegetter",),
        "fields of named tuples are not read when a crash is explained",
        ("observe.torch_features.interpreter.is_plain_slot",),
    ),
    Feature(
        "command-options",
        ("argparse.ArgumentParser()._actions",),
        "an option of `torchwhy run` that takes a value has to be written with `=`",
        ("observe.torch_features.interpreter.options_with_values",),
    ),
    Feature(
        "traced-thread",
        ("C PyThreadState.c_traceobj",),
        "the accelerator is not built",
        ("replay.handled.NativeTracer",),
        only_time=True,
    ),
)
