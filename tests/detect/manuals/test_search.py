"""Searching manual pages."""

from __future__ import annotations

from torchwhy.detect.manuals.page import parse
from torchwhy.detect.manuals.search import Entry, search


def entries(**pages: str) -> dict[str, Entry]:
    """Return one page per name; a page is its summary, then `|` and what it finds, then `|` and a program."""
    found = {}
    for name, text in pages.items():
        summary, finds, code = (*text.split("|"), "", "")[:3]
        page = f"# {name}\n\n{summary}\n\n## What it finds\n\n{finds}\n\n```python\n{code}\n```\n"
        found[name] = Entry(parse(page), "Some group")
    return found


def test_the_name_counts_more_than_the_summary_and_that_more_than_the_text():
    pages = entries(text="A.|softmax", summary="A softmax.", softmax="A.", none="A.")

    assert search("softmax", pages) == ["softmax", "summary", "text"]


def test_code_counts_only_where_no_prose_matches():
    pages = entries(prose="An einsum.", code="A.|b|torch.einsum(x)")

    assert search("einsum", pages) == ["prose"]
    del pages["prose"]
    assert search("einsum", pages) == ["code"]


def test_a_pasted_message_matches_whatever_its_numbers_are():
    pages = entries(
        sizes="A.|`mat1 and mat2 shapes cannot be multiplied (8x16 and 10x4)`",
        types="A.|`mat1 and mat2 must have the same dtype`",
        other="A.|shapes and sizes",
    )

    found = search("RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)", pages)

    assert found[0] == "sizes"
    assert "other" not in found


def test_the_beginning_of_a_word_and_its_plural_match():
    pages = entries(one="A logarithm.", two="A shape.", three="A.")

    assert search("log", pages) == ["one"]
    assert search("shapes", pages) == ["two"]


def test_words_that_no_page_has_are_ignored_up_to_half_of_the_query():
    pages = entries(one="A leak of memory.", two="B.")

    assert search("memory explosion", pages) == ["one"]
    assert search("memory explosion tonight", pages) == []


def test_what_no_page_has_matches_nothing():
    assert search("qqq", entries(one="A.", two="B.")) == []
    assert search("42 + 7", entries(one="A.", two="B.")) == []
