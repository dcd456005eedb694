"""The docs site in a real browser: built without a warning, silent, without requests to elsewhere, searchable."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec

import pytest
from tools.docs.__main__ import write_site
from tools.docs.built_site import problems_of
from tools.docs.causes.cause_pages import own_causes
from tools.docs.consoles import leave_out
from tools.docs.places import ROOT

from tests.report.page.test_page_browser import LEAST_CONTRAST
from torchwhy.detect.manuals.search import Entry, search

CHROMIUM = shutil.which("chromium")
PAGES = [
    "",
    "tutorials/nan/",
    "causes/",
    "causes/log-of-nonpositive/",
    "how-it-works/",
    "reference/commands/",
]
SIZES = {"desk": {"width": 1280, "height": 900}, "phone": {"width": 360, "height": 740}}

SCHEMES = {"light": "default", "dark": "slate"}  # of the system, and Material's name for it

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("material") is None,
        reason="there is no MkDocs Material (`make docs` installs it)",
    ),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium (apt-get install chromium)"),
]

# Text of reports, pictures and the search on its background; the rest is the theme's.
CONTRASTS = """(least) => {
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const light = c => { const [r, g, b] = c.slice(0, 3).map(v => { v /= 255;
      return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] === 1) return c; }
    return [255, 255, 255]; };
  const poor = [];
  for (const e of document.querySelectorAll(".report span, .picture text, .cause-search *")) {
    const inside = e.closest("svg"), style = getComputedStyle(e);
    if (!e.getClientRects().length || !e.textContent.trim()) continue;
    const pen = light(rgb(inside ? style.fill : style.color)), paper = light(ground(inside ? inside.parentElement : e));
    const ratio = (Math.max(pen, paper) + 0.05) / (Math.min(pen, paper) + 0.05);
    if (ratio < least) poor.push([e.className.baseVal ?? e.className, e.textContent.slice(0, 40), ratio.toFixed(2)]);
  }
  return poor;
}"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_words):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site without the output of the tutorials' programs."""
    folder = tmp_path_factory.mktemp("docs")
    write_site(folder / "docs", run=leave_out)
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", folder / "docs" / "mkdocs.yml"],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def address(site):
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def tab(address):
    """Return a tab; `tab.seen` is what the browser said, or asked another server for."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_context().new_page()
        page.seen = []
        page.on("console", lambda message: page.seen.append(message.text))
        page.on("pageerror", lambda error: page.seen.append(str(error)))
        page.on(
            "request", lambda asked: asked.url.startswith(address) or page.seen.append(asked.url)
        )
        yield page
        browser.close()


def test_links_of_the_site_lead_somewhere(site):
    assert list(problems_of(site)) == []


@pytest.mark.parametrize("size", SIZES)
def test_pages_are_silent_readable_and_no_wider_than_the_screen(tab, address, size):
    tab.set_viewport_size(SIZES[size])
    for name in PAGES:
        for scheme, name_in_theme in SCHEMES.items():
            tab.emulate_media(color_scheme=scheme)
            tab.goto(address + name)

            assert tab.evaluate("document.body.dataset.mdColorScheme") == name_in_theme
            assert tab.evaluate(CONTRASTS, LEAST_CONTRAST) == [], name
            assert tab.evaluate("document.documentElement.scrollWidth") <= SIZES[size]["width"], (
                name
            )
    assert tab.seen == []


def _found(tab) -> list[str]:
    return tab.locator(".cause-search .results code:first-child").all_inner_texts()


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("mat1 and mat2 shapes cannot be multiplied (16x1568 and 2048x10)", "linear-size-mismatch"),
        ("Trying to backward through the graph a second time", "graph-freed"),
        ("Target 7 is out of bounds.", "label-out-of-range"),
        (
            "a leaf Variable that requires grad is being used in an in-place operation",
            "inplace-modification",
        ),
        ("memory leak", "retained-graph"),
        ("log of zero", "log-of-nonpositive"),
    ],
)
def test_causes_are_found_by_symptom_and_by_message(tab, address, query, best):
    tab.goto(address + "causes/")

    tab.fill("#cause-query", query)

    assert best in _found(tab)[:3]
    assert not tab.locator("article h2").first.is_visible()


def test_the_browser_ranks_as_torchwhy_explain_does(tab, address):
    entries = {name: Entry(*one) for name, one in own_causes().items()}
    tab.goto(address + "causes/")

    for query in ("zero_grad", "learning rate too high", "padding mask"):
        tab.fill("#cause-query", query)

        assert _found(tab)[0] == search(query, entries)[0]


def test_the_search_of_the_theme_works_without_another_server(tab, address):
    tab.set_viewport_size(SIZES["desk"])
    tab.goto(address)

    tab.fill(".md-search__input", "keep-state")
    tab.wait_for_selector(".md-search-result__item", timeout=20_000)

    assert tab.seen == []
