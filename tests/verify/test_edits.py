"""Edits are exact, keep what they do not change, and are refused where the file is not what it was."""

from __future__ import annotations

import ast

import msgspec
import pytest

from tests.support.findings import said
from torchwhy.finding import Finding, Fix, SourceSpan
from torchwhy.record.events import ProgramFile
from torchwhy.source.edits import Source
from torchwhy.source.files import digest
from torchwhy.verify import diffs
from torchwhy.verify.diffs import EditError, changed_files, edited_texts

TEXT = """import torch  # größer

def f(x):
    # keep me
    ä = x.abs(); y = torch.log( x )  # and me
    return (y
            .sqrt())
"""


def span(line, expression, text=TEXT):
    column = text.splitlines()[line - 1].index(expression)
    return SourceSpan("t.py", line, line, column, column + len(expression), expression=expression)


def test_an_edit_changes_its_stretch_and_nothing_else():
    source = Source("t.py", TEXT)
    node = source.at(span(5, "torch.log( x )"))

    (fix,) = source.fix("guard", source.replace(node.args[0], "x + 1"))
    after = diffs.apply(TEXT, changed_files(fix.diff)["t.py"], file="t.py")

    assert after == TEXT.replace("torch.log( x )", "torch.log( x + 1 )")


def test_several_edits_of_one_line_are_made_at_once():
    source = Source("t.py", TEXT)
    log, absolute = source.at(span(5, "torch.log( x )")), source.at(span(5, "x.abs()"))

    after = source.edited(
        [source.replace(log, "1"), source.replace(absolute, "longer_than_before")]
    )

    assert "    ä = longer_than_before; y = 1  # and me\n" in after


def test_a_call_on_a_line_of_its_own_is_found_by_its_end():
    source = Source("t.py", TEXT)

    node = source.at(SourceSpan("t.py", 7, 7, 12, 19, expression=".sqrt()"))

    assert source.of(node) == "y\n            .sqrt()"


def test_a_span_that_holds_something_else_now_is_not_edited():
    source = Source("t.py", TEXT.replace("torch.log( x )", "torch.exp( x )"))

    assert source.at(span(5, "torch.log( x )")) is None


def test_an_edit_that_breaks_the_program_is_no_fix():
    source = Source("t.py", TEXT)
    node = source.at(span(5, "x.abs()"))

    assert list(source.fix("broken", source.replace(node, "x.abs("))) == []


def test_overlapping_edits_are_an_error():
    source = Source("t.py", "a(b)\n")
    (call,) = (node for node in ast.walk(source.tree) if isinstance(node, ast.Call))

    with pytest.raises(ValueError, match="overlap"):
        source.edited([source.replace(call, "1"), source.replace(call.args[0], "2")])


def test_statements_go_in_and_out_with_their_lines():
    source = Source("t.py", "for i in r:\n\tfirst()\n\tsecond()  # why\n")
    loop = source.tree.body[0]

    before = source.insert_before(loop.body[1], "third()")
    after = source.insert_after(loop.body[1], "fourth()")
    gone = source.remove(loop.body[0])

    assert (
        source.edited([before, after, gone])
        == "for i in r:\n\tthird()\n\tsecond()  # why\n\tfourth()\n"
    )


def test_a_statement_that_shares_its_line_is_not_moved():
    source = Source("t.py", "a(); b()\n")

    assert source.remove(source.tree.body[1]) is None
    assert source.insert_before(source.tree.body[1], "c()") is None
    assert source.insert_after(source.tree.body[0], "c()") is None


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_line_ends_stay_as_they_are(tmp_path, newline, end):
    text = newline.join(["a = 1", "b = 2", "c = 3"]) + end.replace("\n", newline)
    (tmp_path / "t.py").write_bytes(text.encode())
    source = Source("t.py", diffs.read(tmp_path / "t.py"))

    (fix,) = source.fix("change", source.replace(source.tree.body[1], "b = 5"))
    texts = edited_texts(fix.diff, tmp_path)
    diffs.write_all(texts)

    assert (tmp_path / "t.py").read_bytes() == text.replace("b = 2", "b = 5").encode()


def test_a_form_feed_does_not_end_a_line(tmp_path):
    text = "a = 1\n\x0c\nb = 2  # \u2028 here\n"
    (tmp_path / "t.py").write_text(text)
    source = Source("t.py", text)

    (fix,) = source.fix("change", source.replace(source.tree.body[1], "b = 5"))

    assert edited_texts(fix.diff, tmp_path) == {tmp_path / "t.py": text.replace("b = 2", "b = 5")}


def test_a_diff_for_another_text_is_refused(tmp_path):
    (tmp_path / "t.py").write_text("a = 1\nb = 2\n")
    source = Source("t.py", "a = 1\nb = 3\n")
    (fix,) = source.fix("change", source.replace(source.tree.body[1], "b = 4"))

    with pytest.raises(EditError) as refusal:
        edited_texts(fix.diff, tmp_path)

    assert refusal.value.slug == "source-changed"
    assert (tmp_path / "t.py").read_text() == "a = 1\nb = 2\n"


def test_a_file_changed_since_the_run_is_noticed_wherever_it_changed(tmp_path):
    (tmp_path / "t.py").write_text("a = 1\n\n\n\n\nb = 2\n")
    finding = Finding("name", "error", said("message"), location=SourceSpan("t.py", 1))
    diffs.record_sources(tmp_path, [finding], tmp_path)
    diffs.check_unchanged(tmp_path, ["t.py"], tmp_path)
    (tmp_path / "t.py").write_text("a = 1\n\n\n\n\nb = 3\n")

    with pytest.raises(EditError) as refusal:
        diffs.check_unchanged(tmp_path, ["t.py"], tmp_path)

    assert refusal.value.slug == "source-changed"


def test_a_file_changed_while_the_program_ran_is_noticed(tmp_path):
    ran = ProgramFile(file="t.py", sha256=digest(b"a = 1\n"), text="a = 1\n")
    (tmp_path / "rank0.jsonl").write_bytes(msgspec.json.encode(ran) + b"\n")
    (tmp_path / "t.py").write_text("a = 2\n")
    finding = Finding("name", "error", said("message"), location=SourceSpan("t.py", 1))

    diffs.record_sources(tmp_path, [finding], tmp_path)

    with pytest.raises(EditError):
        diffs.check_unchanged(tmp_path, ["t.py"], tmp_path)


def test_files_are_written_all_or_none(tmp_path):
    (tmp_path / "a.py").write_text("old")
    (tmp_path / "a.py").chmod(0o640)

    with pytest.raises(EditError) as refusal:
        diffs.write_all({tmp_path / "a.py": "new", tmp_path / "missing" / "b.py": "new"})

    assert refusal.value.slug == "cannot-apply"
    assert (tmp_path / "a.py").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.py"]
    diffs.write_all({tmp_path / "a.py": "new"})
    assert (tmp_path / "a.py").read_text() == "new"
    assert (tmp_path / "a.py").stat().st_mode & 0o777 == 0o640


def test_two_changes_of_one_file_are_joined_into_one_diff(tmp_path):
    (tmp_path / "t.py").write_text("a = 1\nb = 2\n")
    first = Source("t.py", "a = 1\nb = 2\n")
    (one,) = first.fix("insert", first.insert_before(first.tree.body[0], "c = 0"))
    second = Source("t.py", "c = 0\na = 1\nb = 2\n")
    (two,) = second.fix("change", second.replace(second.tree.body[2], "b = 5"))

    diff = diffs.joined((one.diff, two.diff), tmp_path)

    assert edited_texts(diff, tmp_path) == {tmp_path / "t.py": "c = 0\na = 1\nb = 5\n"}


def test_diffs_of_the_errors_and_memory_families_are_understood(tmp_path):
    (tmp_path / "t.py").write_text("losses = []\nlosses.append(loss)\n")
    diff = "--- t.py\n+++ t.py\n@@ -2 +2 @@\n-losses.append(loss)\n+losses.append(loss.item())\n"

    texts = edited_texts(Fix("keep numbers", diff=diff).diff, tmp_path)

    assert texts[tmp_path / "t.py"] == "losses = []\nlosses.append(loss.item())\n"
