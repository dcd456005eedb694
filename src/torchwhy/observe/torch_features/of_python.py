"""The rows of the table that are about CPython and its standard library."""

from __future__ import annotations

from torchwhy.observe.torch_features.feature import Feature

OF_PYTHON = (
    Feature(
        "frames",
        ("sys._getframe",),
        "call frames are reached through an exception, which takes longer",
        ("observe.torch_features.interpreter.frame_at",),
        only_time=True,
    ),
    Feature(
        "shown-warnings",
        ("warnings._showwarnmsg",),
        "NumPy's warnings about division by zero and overflow in data code are not recorded",
        ("observe.probes.array_warnings.install",),
    ),
    Feature(
        "script-loading",
        ("runpy._get_code_from_file", "runpy._run_module_as_main"),
        "no fix is tried, because torchwhy cannot run an edited copy of the program",
        (
            "observe.torch_features.interpreter.replace_reading",
            "observe.torch_features.interpreter.run_main_once",
        ),
        of_recording=False,
    ),
    Feature(
        "process-target",
        ("multiprocessing.process.BaseProcess()._target",),
        "processes that the program forks are not watched",
        ("observe.torch_features.interpreter.target_of",),
    ),
    Feature(
        "import-state",
        ("importlib._bootstrap._load_unlocked()._initializing",),
        "tracebacks out of `import torch` include a frame of torchwhy",
        ("observe.boot.arm._tell_when_imported",),
        of_recording=False,
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
        "options of `torchwhy run` that take a value must be written with `=`",
        ("observe.torch_features.interpreter.options_with_values",),
        of_recording=False,
    ),
    Feature(
        "traced-thread",
        ("C PyThreadState.c_traceobj",),
        "the native extension cannot be built",
        ("replay.crash.exception_watchers.NativeTracer",),
        only_time=True,
    ),
)
