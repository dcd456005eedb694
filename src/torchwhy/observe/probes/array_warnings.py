"""NumPy says itself where its data code divides by zero or overflows; the warning's line is kept."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from torchwhy.finding import SourceSpan
from torchwhy.observe.hooks import Hooks
from torchwhy.observe.program.frames import text_at
from torchwhy.observe.torch_features.interpreter import note_warnings
from torchwhy.source.files import shown_path

NEEDS = ("shown-warnings",)


def install(hooks: Hooks, note: Callable[[str, SourceSpan], object]) -> None:
    """Look at every warning that is shown; showing it stays the business of whoever did it before."""

    def noting(message: Any) -> None:
        with suppress(
            Exception
        ):  # a warning of an odd kind is not ours, and showing it is not our business
            if issubclass(message.category, RuntimeWarning) and "encountered in" in str(
                message.message
            ):
                path = os.fspath(message.filename)
                text = text_at(path, (message.lineno, None, None, None))
                note(
                    str(message.message),
                    SourceSpan(shown_path(path), message.lineno, expression=text),
                )

    note_warnings(hooks.replace, noting)
