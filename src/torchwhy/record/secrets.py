"""Secrets on a command line are masked in everything that torchwhy stores; only the memory of a process has them.

A secret is the value of an option or variable whose name has a word that ends in `token`, `key`, `secret` or
`password` (`--hf-token x`, `API_KEY=x`, `wandb.apikey=x`), and the password in a URL. A plain number behind a token or
key (`--max-tokens 512`, `--num-keys 8`) is a size, not a secret.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MASK = "***"
KEPT_FIELDS = {"event", "file", "function"}
LEAST_WORD = (
    8  # A shorter secret is masked in other text only where it stands as a word of its own.
)

_PARTS = r"tokens?|keys?|secrets?|password|passwd|passphrase|credentials?"
# The end of a part of the name: `hftoken`, `api_key_id` and `apiKeyId`, but not `tokenizer` or `keypoints`.
_NAMED = re.compile(rf"(?:{_PARTS})(?=$|[^a-z])|secret|password", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ALWAYS = re.compile(r"secret|pass|credential", re.IGNORECASE)
_ORDINARY = re.compile(r"[a-z_]{0,7}|\d{0,3}")
_PLAIN = re.compile(
    r"[+-]?\d{1,7}|[+-]?\d*\.\d+(?:e[+-]?\d+)?|true|false|none|null|", re.IGNORECASE
)
# A name and its value inside one word: `NAME=value`, `--name=value`, `?name=value&`, `"name": "value"`, `--name value`.
_NAME_BEFORE = re.compile(r"(?<![\w.\-])[\w.\-]{1,80}[\"']?\s?$")
_SIGN = re.compile(r"[:=]|(?<=\w) +(?=[^\s-])")
_VALUE_AFTER = re.compile(r"\s?[\"']?([^\s\"'&;|,)}\]]+)")
LONGEST_NAME = 90
_IN_URL = re.compile(r"://(?P<user>[^\s/@:]{0,200})(?P<rest>:[^\s/@]{0,2000})?@", re.IGNORECASE)


def is_secret_name(name: str) -> bool:
    """Tell whether the value of an option or variable of this name is a secret."""
    return _NAMED.search(_CAMEL.sub("_", name)) is not None


def masked_command(command: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command with every secret replaced by `***`."""
    return _masked(command, [])


def _masked(command: Sequence[str], hidden: list[str]) -> tuple[str, ...]:
    """Return the masked words; `hidden` gets the secrets."""
    words: list[str] = []
    option = ""
    for word in command:
        if option and not word.startswith("-") and _is_secret(option, word):
            hidden.append(word)
            words.append(MASK)
        else:
            words.append(_without_passwords(_without_values(word, hidden), hidden))
        is_option = word.startswith("--") and "=" not in word
        option = word if is_option and is_secret_name(word) else ""
    return tuple(words)


def _is_secret(name: str, value: str) -> bool:
    if not is_secret_name(name):
        return False
    return _ALWAYS.search(name) is not None or _PLAIN.fullmatch(value) is None


def _without_values(word: str, hidden: list[str]) -> str:
    """Return `NAME=value` with the whole value masked, or a longer text with those inside it."""
    name, sign, value = word.partition("=")
    if sign and _NAME_BEFORE.fullmatch(name.lstrip("+~")) and is_secret_name(name):
        if not _is_secret(name, value):
            return word
        hidden.append(value)
        return f"{name}={MASK}"
    if _NAMED.search(word) is None:
        return word
    parts, end = [], 0
    for sign_at in _SIGN.finditer(word):
        name = _name_before(word, sign_at)
        if sign_at.start() < end or not name or not is_secret_name(name):
            continue
        value_after = _VALUE_AFTER.match(word, sign_at.end())
        if value_after is not None and _is_secret(name, value_after[1]):
            hidden.append(value_after[1])
            parts += [word[end : value_after.start(1)], MASK]
            end = value_after.end(1)
    return "".join([*parts, word[end:]])


def _name_before(word: str, sign: re.Match[str]) -> str:
    """Return the name before a sign; before a mere space, only that of an option."""
    found = _NAME_BEFORE.search(word[max(0, sign.start() - LONGEST_NAME) : sign.start()])
    name = "" if found is None else found.group().rstrip("\"' ")
    return name if name.startswith("--") or not sign.group().isspace() else ""


def _without_passwords(word: str, hidden: list[str]) -> str:
    """Return the word without the passwords of its URLs."""

    def masked(found: re.Match[str]) -> str:
        user, rest = found["user"], found["rest"]
        # A lone part before the @ is a token (`https://ghp_x@github.com`), except the usual name of an SSH account.
        if rest is None:
            if user in ("git", ""):
                return found.group()
            hidden.append(user)
            return f"://{MASK}@"
        hidden.append(rest[1:])
        return f"://{user}:{MASK}@"

    return _IN_URL.sub(masked, word)


class Secrets:
    """The secrets of one process, to be masked in other text: messages, names, output."""

    def __init__(self, values: Iterable[str]) -> None:
        # The longest first, so that none is left behind because a part of it was masked.
        self._values = tuple(sorted({one for one in values if one}, key=len, reverse=True))
        words = [re.escape(one) for one in self._values if len(one) >= LEAST_WORD]
        short = [rf"(?<!\w){re.escape(one)}(?!\w)" for one in self._values if len(one) < LEAST_WORD]
        self._pattern = re.compile("|".join([*words, *short])) if self._values else None

        encoded = (
            re.escape(json.dumps(one, ensure_ascii=False)[1:-1].encode(errors="replace"))
            for one in self._values
        )
        self._in_json = re.compile(b"|".join(encoded))

    def __bool__(self) -> bool:
        return bool(self._values)

    def may_be_in(self, line: bytes) -> bool:
        """Tell whether an encoded event may hold a secret; fast, because most hold none."""
        return bool(self._values) and self._in_json.search(line) is not None

    def masked(self, text: str) -> str:
        """Return the text without the secrets."""
        return text if self._pattern is None else self._pattern.sub(MASK, text)

    def masked_in_place(self, text: str) -> str:
        """Return the text with every character of a secret replaced, so that columns stay."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda found: "*" * len(found.group()), text)

    def masked_data(self, data: Any) -> Any:
        """Return plain data with the secrets masked in its strings; names of fields, files and functions stay."""
        if isinstance(data, str):
            return self.masked(data)
        if isinstance(data, Mapping):
            return {
                name: one if name in KEPT_FIELDS else self.masked_data(one)
                for name, one in data.items()
            }
        if isinstance(data, (list, tuple)):
            return [self.masked_data(one) for one in data]
        return data


def secrets_of(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Secrets:
    """Return the secrets in a command line, and those in the environment variables with such names."""
    named = (value for name, value in (environment or {}).items() if _is_secret(name, value))
    hidden = [value for value in named if len(value) >= LEAST_WORD]
    _masked(command, hidden)
    # A short lowercase word (`--sort-key loss`) is a name of the program: masked everywhere, it would spoil the report.
    return Secrets(one for one in hidden if not _ORDINARY.fullmatch(one))
