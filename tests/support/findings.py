"""Diagnoses for tests that are not about what was measured."""

from __future__ import annotations

from torchwhy.diagnosis import Stored


def said(text: str, *, short: str = "") -> Stored:
    """Return a diagnosis that says this, in a headline `short`, and measured nothing."""
    return Stored(text=text, data={}, short=short)
