"""The table of torch's exception messages, and the function that reads a message into its kind."""

from __future__ import annotations

import re

from torchwhy.detect.rules.beginner_messages import BEGINNER_MESSAGES
from torchwhy.detect.rules.dimension_messages import DIMENSION_MESSAGES
from torchwhy.detect.rules.everyday_messages import EVERYDAY_MESSAGES
from torchwhy.detect.rules.graph_messages import GRAPH_MESSAGES
from torchwhy.detect.rules.message_kinds import TorchMessage
from torchwhy.detect.rules.message_rows import Row
from torchwhy.detect.rules.rank_messages import RANK_MESSAGES
from torchwhy.detect.rules.size_messages import SIZE_MESSAGES
from torchwhy.detect.rules.type_messages import TYPE_MESSAGES

TABLE: tuple[Row, ...] = (
    *SIZE_MESSAGES,
    *TYPE_MESSAGES,
    *GRAPH_MESSAGES,
    *BEGINNER_MESSAGES,
    *EVERYDAY_MESSAGES,
    *RANK_MESSAGES,
    *DIMENSION_MESSAGES,
)
MOST_SPECIFIC_FIRST = sorted(TABLE, key=lambda row: -row.specificity)
DEVICE = re.compile(r"\b[a-z]+:\d+\b|\b(?:cuda|mps|xpu|meta|cpu)\b")
NUMBER = re.compile(r"\d+")
MOST_NUMBERS = 64
MOST_DIGITS = 11
SIZES = re.compile(
    r"size|shape|match|dimension|expand|invalid for input|broadcast|batch", re.IGNORECASE
)
DTYPES = {
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "Long": "int64",
    "BFloat16": "bfloat16",
}


def read(message: str) -> TorchMessage:
    """Return the message as data, by the most specific row that matches; a bare `TorchMessage` if none does."""
    told = (said for row in MOST_SPECIFIC_FIRST if (said := row.read(message)) is not None)
    return next(told, TorchMessage())


def devices_in(message: str) -> list[str]:
    """Return the devices that a message names."""
    return DEVICE.findall(message)


def dtypes_in(message: str) -> list[str]:
    """Return the dtypes that a message names, under their Python names."""
    return [DTYPES[word] for word in message.replace(".", " ").split() if word in DTYPES]


def numbers_in(message: str) -> set[int]:
    """Return the integers in a message."""
    found = NUMBER.findall(message)[:MOST_NUMBERS]
    return {int(number) for number in found if len(number) <= MOST_DIGITS}


def speaks_of_sizes(message: str) -> bool:
    """Tell whether a message, from torch or another library, is about sizes that do not match."""
    return SIZES.search(message) is not None
