"""Records where data code makes NumPy warn of a division by zero or an overflow."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from torchwhy.finding import SourceSpan
from torchwhy.observe.hooks import Hooks
from torchwhy.observe.program.frames import text_at
from torchwhy.observe.torch_features.compiler import uncompiled, uncompiled_alone
from torchwhy.observe.torch_features.interpreter import note_warnings
from torchwhy.source.files import shown_path

NEEDS = ("shown-warnings",)


def install(hooks: Hooks, note: Callable[[str, SourceSpan], object]) -> None:
    """Look at every warning that is shown, and pass it on to the function that shows it."""

    @uncompiled
    def noting(message: Any) -> None:
        with suppress(Exception):  # a warning of an unusual kind is none of NumPy's
            if issubclass(message.category, RuntimeWarning) and "encountered in" in str(
                message.message
            ):
                path = os.fspath(message.filename)
                text = text_at(path, (message.lineno, None, None, None))
                note(
                    str(message.message),
                    SourceSpan(shown_path(path), message.lineno, expression=text),
                )

    note_warnings(hooks.replace_unseen, noting, uncompiled_alone)
