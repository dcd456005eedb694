"""Diagnoses for tests that are not about what was measured."""

from __future__ import annotations

from torchwhy.diagnosis import Stored


def said(text: str) -> Stored:
    """Return a diagnosis that says this and measured nothing."""
    return Stored(text=text, data={})
