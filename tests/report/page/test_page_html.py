"""The page as text: golden files, escaping, the content security policy, and its size."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.report.page.example_pages import full_page, hostile_page, large_page
from torchwhy import __version__
from torchwhy.report.model import Report
from torchwhy.report.page import vega_bundle
from torchwhy.report.page.page_builder import Setting, build_page
from torchwhy.report.page.page_render import embedded_json, prose, render
from torchwhy.report.page.png_writer import png

GOLDEN = Path(__file__).with_name("golden")
LARGEST = 3_000_000


class Elements(HTMLParser):
    """Collects tags with their attributes, and the text of scripts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self._inside = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag == "script" and "type" not in dict(attrs)
        if self._inside:
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.scripts[-1] += data

    def handle_endtag(self, tag: str) -> None:
        self._inside = False


def body_of(html: str) -> str:
    found = re.search(r"<header.*</main>", html, re.DOTALL)
    assert found is not None
    return found.group().replace(__version__, "VERSION") + "\n"


@pytest.mark.parametrize("name", ["full", "healthy"])
def test_the_page_is_as_it_was_looked_at(name, request):
    healthy = build_page(Report(("train.py",), 3), [], Setting(Path("/nowhere")))
    page = full_page() if name == "full" else healthy

    text = body_of(render(page, interactive=False))

    golden = GOLDEN / f"{name}.html"
    if request.config.getoption("--update"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf8")
    assert text == golden.read_text(encoding="utf8")


@pytest.mark.parametrize("interactive", [False, True])
def test_names_of_the_program_stay_text(interactive):
    if interactive and vega_bundle.version() is None:
        pytest.skip("torchwhy[html] is not installed")

    html = render(hostile_page(), interactive=interactive)

    elements = Elements(html)
    assert len(elements.scripts) == 1 + interactive
    assert not any("hacked" in script for script in elements.scripts)
    assert not [a for _, a in elements.tags for name in a if name.startswith("on")]
    assert {a["src"][:22] for t, a in elements.tags if t == "img" and a.get("src")} <= {
        "data:image/png;base64,"
    }
    assert "\u202e" not in html
    assert "hacked=1</script>" not in html.replace("&lt;", "")


def test_the_policy_allows_the_scripts_of_the_file_alone():
    elements = Elements(render(full_page(), interactive=False))

    (policy,) = [a["content"] for _, a in elements.tags if a.get("http-equiv")]
    digest = base64.b64encode(hashlib.sha256(elements.scripts[0].encode()).digest()).decode()
    assert policy is not None
    assert policy.startswith(f"default-src 'none'; script-src 'sha256-{digest}';")
    assert "unsafe-eval" not in policy
    assert "http" not in policy


def test_without_the_extra_the_page_says_how_to_get_it():
    html = render(full_page(), interactive=False)

    assert "pip install 'torchwhy[html]'" in html
    assert html.count('class="plain"') >= len(full_page().charts)
    assert html.count("<summary>Numbers of") == len(full_page().charts)


def test_the_page_loads_nothing():
    elements = Elements(render(full_page(), interactive=False))

    linked = [a[key] for _, a in elements.tags for key in ("src", "href") if a.get(key)]
    assert all(one.startswith(("#", "data:")) for one in linked if one is not None)


@pytest.mark.skipif(vega_bundle.version() is None, reason="torchwhy[html] is not installed")
def test_a_million_steps_and_a_thousand_layers_make_a_small_page():
    html = render(large_page(), interactive=True)

    assert len(html.encode()) < LARGEST


@pytest.mark.skipif(vega_bundle.version() is None, reason="torchwhy[html] is not installed")
def test_the_bundle_is_made_once(tmp_path, monkeypatch):
    (tmp_path / ".torchwhy").mkdir()
    monkeypatch.chdir(tmp_path)
    make = vega_bundle.bundle.__wrapped__  # without the memory of this process
    made = []
    monkeypatch.setattr("vl_convert.javascript_bundle", lambda *_: made.append(1) or "a</script>")

    assert make() == make() == "a<\\/script>\n"
    assert made == [1]


def test_json_in_a_script_cannot_end_it():
    assert "<" not in embedded_json({"name": "</script><!--"})


def test_code_between_backticks_is_code_and_still_escaped():
    assert prose("`<b>` is <i>") == "<code>&lt;b&gt;</code> is &lt;i&gt;"
    assert prose("it's ` alone") == "it&#39;s ` alone"


def test_an_image_is_a_valid_png():
    content = png([[(255, 0, 0), (0, 0, 0)]])

    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert content[16:24] == bytes([0, 0, 0, 2, 0, 0, 0, 1])
