"""What a mistyped word was meant to be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

CLOSE = 0.66  # `reprot` and `report` have 0.83, `rnu` and `run` 0.67, `run` and `fix` 0


def did_you_mean(word: str, known: Iterable[str], *, most: int = 2) -> str:
    """Return `: did you mean report?`, or nothing if no known word is near."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), n=most, cutoff=CLOSE)
    return f": did you mean {' or '.join(near)}?" if near else ""


def about_unknown_command(words: Sequence[str], commands: Sequence[str]) -> str:
    """Return the sentence for a first word that is no command."""
    word = words[0]
    if looks_like_program(word):
        more = " …" if len(words) > 1 else ""
        return f"{word!r} is no command: `torchwhy run {word}{more}` runs a program."
    near = did_you_mean(word, commands)
    return (
        f"{word!r} is no command{near}" if near else f"{word!r} is no command; {_listed(commands)}"
    )


def looks_like_program(word: str) -> bool:
    """Tell whether a word is a script or a file rather than a command of torchwhy."""
    if word.startswith("-") or "\0" in word:
        return False
    return word.endswith(".py") or Path(word).is_file()


def _listed(commands: Sequence[str]) -> str:
    return f"there are {', '.join(commands)}."
